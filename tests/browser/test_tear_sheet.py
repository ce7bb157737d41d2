"""The tear sheet in a real browser: it draws, sorts, turns dark, is used by keyboard, and obeys nobody's strings."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from ringfence.verbs.report import tear_sheet

from tests.browser.chromium import complaints, open_chromium, requests, visit
from tests.trade.run_builder import TEXT
from tests.verbs.report_documents import HOSTILE, document, hostile_document, make_candles, many_trades

SECONDS = 30.0
# Whether anything but one colour is on the canvases of a chart.
DRAWN = """
return [...document.querySelectorAll(`#chart-${arguments[0]} canvas`)].some((canvas) => {
  if (!canvas.width || !canvas.height) return false;
  const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(pixels).size > 8;
});
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    with open_chromium() as driver:
        yield driver


@pytest.fixture
def page(browser: webdriver.Chrome, tmp_path: Path) -> webdriver.Chrome:
    run = document(trades=many_trades(60, ("GOOG", "IBM")))
    candles = {"GOOG": make_candles(252), "IBM": make_candles(252, price=50.0)}
    visit(browser, tmp_path, tear_sheet(run, code=TEXT, candles=candles))
    wait_for_charts(browser)
    return browser


def wait_for_charts(driver: webdriver.Chrome) -> None:
    wait = WebDriverWait(driver, SECONDS)
    wait.until(lambda d: d.execute_script("return document.documentElement.dataset.ready === 'yes'"))
    wait.until(lambda d: d.execute_script(DRAWN, "performance") and d.execute_script(DRAWN, "prices"))


def column(driver: webdriver.Chrome, number: int) -> list[str]:
    cells = driver.find_elements(By.CSS_SELECTOR, f"#trade-table tbody td:nth-child({number})")
    return [cell.text for cell in cells]


def numbers(shown: list[str]) -> list[float]:
    return [float(text.replace("−", "-").replace("+", "").replace(",", "").rstrip("%")) for text in shown]


def legends(driver: webdriver.Chrome) -> list[str]:
    return [element.text for element in driver.find_elements(By.CSS_SELECTOR, "#chart-prices .legend")]


def pressed_ranges(driver: webdriver.Chrome) -> list[str]:
    found = driver.find_elements(By.CSS_SELECTOR, "[data-ranges] button[aria-pressed=true]")
    return [button.text for button in found]


def test_it_opens_without_a_complaint_and_without_a_request(browser: webdriver.Chrome, tmp_path: Path) -> None:
    complaints(browser)
    requests(browser)
    visit(browser, tmp_path, tear_sheet(document(), code=TEXT, candles={"GOOG": make_candles(252)}))
    wait_for_charts(browser)
    assert complaints(browser) == []
    assert requests(browser) == []


def test_the_policy_holds_in_the_browser(page: webdriver.Chrome) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        page.execute_script(
            "const s = document.createElement('script');s.textContent = 'window.smuggled = 1'; document.body.append(s);"
            "const i = new Image(); i.src = `http://127.0.0.1:${arguments[0]}/x.png`; document.body.append(i);",
            listening.getsockname()[1],
        )
        WebDriverWait(page, SECONDS).until(lambda d: "img-src" in " ".join(complaints(d)))
        with pytest.raises(BlockingIOError):  # nobody called
            listening.accept()
    assert page.execute_script("return window.smuggled") is None


def test_trades_are_sorted_by_a_click_on_their_heading(page: webdriver.Chrome) -> None:
    profit = page.find_element(By.CSS_SELECTOR, "#trade-table th[data-key=pnl]")
    place = [head.get_attribute("data-key") for head in page.find_elements(By.CSS_SELECTOR, "#trade-table th")].index(
        "pnl"
    )
    profit.find_element(By.TAG_NAME, "button").click()
    falling = numbers(column(page, place + 1))
    assert falling == sorted(falling, reverse=True) and len(set(falling)) > 1
    assert profit.get_attribute("aria-sort") == "descending"
    profit.find_element(By.TAG_NAME, "button").click()
    rising = numbers(column(page, place + 1))
    assert rising == sorted(rising) and rising[0] < 0
    assert profit.get_attribute("aria-sort") == "ascending"


def test_many_trades_are_turned_page_by_page_and_filtered(page: webdriver.Chrome) -> None:
    assert column(page, 1) == [str(number) for number in range(1, 26)]
    later = page.find_element(By.CSS_SELECTOR, "[data-turn='1']")
    later.click()
    later.click()
    assert column(page, 1) == [str(number) for number in range(51, 61)]
    assert not later.is_enabled()
    Select(page.find_element(By.ID, "trade-filter")).select_by_value("lost")
    assert page.find_element(By.ID, "trade-page").text == "1–20 of 20"


def test_the_theme_is_toggled_and_the_charts_follow(page: webdriver.Chrome) -> None:
    def background() -> str:
        return str(page.execute_script("return getComputedStyle(document.body).backgroundColor"))

    def corner() -> list[int]:
        found: list[int] = page.execute_script(
            "return [...document.querySelector('#chart-prices canvas').getContext('2d').getImageData(1, 1, 1, 1).data]"
        )
        return found

    before, painted = background(), corner()
    page.find_element(By.ID, "theme").click()
    wait_for_charts(page)
    assert background() != before
    WebDriverWait(page, SECONDS).until(lambda _: corner() != painted)
    page.find_element(By.ID, "theme").click()
    assert background() == before


def test_a_symbol_is_picked_and_its_prices_are_drawn(page: webdriver.Chrome) -> None:
    before = legends(page)
    Select(page.find_element(By.ID, "symbol")).select_by_visible_text("IBM")
    wait_for_charts(page)
    assert legends(page) != before


def test_a_trade_is_shown_on_the_chart_of_its_symbol(page: webdriver.Chrome) -> None:
    page.find_elements(By.CSS_SELECTOR, "#trade-table .show")[1].click()
    wait_for_charts(page)
    assert Select(page.find_element(By.ID, "symbol")).first_selected_option.text == "IBM"
    # Neither all of it nor one of the ranges: the view went to the trade, and stays there.
    WebDriverWait(page, SECONDS).until(lambda d: pressed_ranges(d) == [])
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert pressed_ranges(page) == []
    assert any("Jan 2020" in words or "Feb 2020" in words for words in legends(page))  # of what is in view


def test_everything_is_reached_by_keyboard(page: webdriver.Chrome) -> None:
    reached = set()
    for _ in range(80):
        page.switch_to.active_element.send_keys(Keys.TAB)
        found = page.switch_to.active_element
        reached.add(found.get_attribute("id") or found.tag_name)
        if {"theme", "chart-performance", "chart-prices", "symbol", "trade-filter"} <= reached:
            return
    pytest.fail(f"only {sorted(reached)} were reached")


def test_both_charts_are_zoomed_by_keys(page: webdriver.Chrome) -> None:
    wait = WebDriverWait(page, SECONDS)
    chart = page.find_element(By.ID, "chart-prices")
    wait.until(lambda d: pressed_ranges(d) == ["All", "All"])
    chart.send_keys("+")
    wait.until(lambda d: pressed_ranges(d) == [])
    chart.send_keys(Keys.HOME)
    wait.until(lambda d: pressed_ranges(d) == ["All", "All"])


def test_a_phone_shows_it_without_scrolling_sideways(page: webdriver.Chrome) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_script_without_prices_draws_its_equity(browser: webdriver.Chrome, tmp_path: Path) -> None:
    complaints(browser)
    run = document(bars=None, metrics=None, statistics={"Return [%]": 1.0}, provenance="claimed", benchmark=None)
    visit(browser, tmp_path, tear_sheet(run, code=TEXT, without_candles="No prices."))
    WebDriverWait(browser, SECONDS).until(lambda d: d.execute_script(DRAWN, "performance"))
    assert complaints(browser) == []


def test_a_run_that_failed_opens_without_a_complaint(browser: webdriver.Chrome, tmp_path: Path) -> None:
    complaints(browser)
    run = document(verdict="failed", metrics=None, equity=None, benchmark=None, indicators={}, trades=())
    visit(browser, tmp_path, tear_sheet(run, code=TEXT))
    WebDriverWait(browser, SECONDS).until(lambda d: d.execute_script("return document.documentElement.dataset.ready"))
    assert complaints(browser) == []


def test_hostile_strings_are_inert(browser: webdriver.Chrome, tmp_path: Path) -> None:
    complaints(browser)
    requests(browser)
    visit(browser, tmp_path, tear_sheet(hostile_document(), code=HOSTILE * 3, candles={HOSTILE: make_candles(252)}))
    wait_for_charts(browser)
    with pytest.raises(NoAlertPresentException):
        browser.switch_to.alert.accept()
    assert browser.execute_script("return window.pwned") is None
    assert browser.execute_script("return document.querySelectorAll('img, [onerror], [onmouseover]').length") == 0
    assert complaints(browser) == []
    assert requests(browser) == []
    assert "window.pwned=1" in browser.find_element(By.TAG_NAME, "h1").text
