"""The calendar and the clock in English."""
