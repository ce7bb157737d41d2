"""Debian's chromium, driven without a window."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from tests.conftest import require


@contextmanager
def open_chromium() -> Iterator[webdriver.Chrome]:
    require("chromium")
    require("chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    # Root has no sandbox of chromium's own, a small /dev/shm is no place for its frames, and what scrolls smoothly
    # cannot be clicked yet.
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--force-prefers-reduced-motion",
        "--window-size=1280,1000",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        driver.set_page_load_timeout(60)
        driver.set_script_timeout(30)
        yield driver
    finally:
        driver.quit()


def complaints(driver: webdriver.Chrome) -> list[str]:
    """What the page wrote to its console, policy violations among it."""
    return [entry["message"] for entry in _log(driver, "browser")]


def requests(driver: webdriver.Chrome) -> list[str]:
    """Every address that was asked for since the last call, but the page's own file."""
    events = [json.loads(entry["message"])["message"] for entry in _log(driver, "performance")]
    sent = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith(("file:", "data:"))]


def _log(driver: webdriver.Chrome, kind: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = driver.get_log(kind)  # type: ignore[no-untyped-call]  # selenium says no types here
    return found


def visit(driver: webdriver.Chrome, folder: Path, html: str) -> None:
    """Open the page as a user does: from a file."""
    path = folder / "sheet.html"
    path.write_text(html, encoding="utf-8")
    driver.get(path.as_uri())
