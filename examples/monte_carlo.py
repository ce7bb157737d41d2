"""Simulate a stock for a year, price a call option on it, and draw what may happen.

A geometric Brownian motion with the parameters below (they are assumptions, not market data). The option's
price has a closed form, so the simulation can be checked: the two must agree within the standard error.
"""

import math
import random

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

START, STRIKE = 100.0, 105.0
DRIFT, VOLATILITY = 0.04, 0.22  # a year
STEPS, PATHS = 252, 40_000

rng = np.random.default_rng(random.getrandbits(64))  # `random` has the run's own seed: same seed, same picture
steps = rng.normal(
    (DRIFT - VOLATILITY**2 / 2) / STEPS,
    VOLATILITY / math.sqrt(STEPS),
    size=(PATHS // 2, STEPS),
)
mirrored = 2 * (DRIFT - VOLATILITY**2 / 2) / STEPS - steps  # antithetic paths halve the noise
paths = START * np.exp(np.cumsum(np.vstack([steps, mirrored]), axis=1))
last = paths[:, -1]

payoff = math.exp(-DRIFT) * np.maximum(last - STRIKE, 0.0)
pairs = (payoff[: PATHS // 2] + payoff[PATHS // 2 :]) / 2
price, error = pairs.mean(), pairs.std(ddof=1) / math.sqrt(len(pairs))

d1 = (math.log(START / STRIKE) + DRIFT + VOLATILITY**2 / 2) / VOLATILITY
closed_form = START * norm.cdf(d1) - STRIKE * math.exp(-DRIFT) * norm.cdf(d1 - VOLATILITY)

print(f"{PATHS:,} paths of {STEPS} days")
print(f"call price, simulated    {price:8.4f} ± {1.96 * error:.4f} (95 %)")
print(f"call price, closed form  {closed_form:8.4f}")
print(f"5 % of the paths end below {np.quantile(last, 0.05):.2f}, 5 % above {np.quantile(last, 0.95):.2f}")

fig, (fan, ends) = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, width_ratios=[3, 1], layout="constrained")
days = np.arange(1, STEPS + 1)
for low, high, shade in ((0.05, 0.95, 0.18), (0.25, 0.75, 0.32)):
    fan.fill_between(days, *np.quantile(paths, [low, high], axis=0), color="tab:blue", alpha=shade, lw=0)
fan.plot(days, paths[:12].T, lw=0.7, alpha=0.8)
fan.plot(days, np.median(paths, axis=0), color="black", lw=1.6, label="median")
fan.axhline(STRIKE, color="tab:red", ls="--", lw=1, label="strike")
fan.set(title="Simulated prices: half and nine tenths of all paths", xlabel="trading day", ylabel="price")
fan.legend(loc="upper left")
ends.hist(last, bins=80, orientation="horizontal", color="tab:blue", alpha=0.6)
ends.axhline(STRIKE, color="tab:red", ls="--", lw=1)
ends.set(title="after a year", xticks=[])

result = {
    "price": price,
    "standard_error": error,
    "closed_form": closed_form,
    "quantiles": dict(zip(("5%", "50%", "95%"), np.quantile(last, [0.05, 0.5, 0.95]), strict=True)),
}
