// What moves on the page: two charts on one time axis, the table of trades, and the theme.
// Everything that came with the run goes into the page as text, never as markup.

const {
  AreaSeries, BaselineSeries, CandlestickSeries, ColorType, CrosshairMode, HistogramSeries, LineSeries, PriceScaleMode,
  createChart,
} = globalThis.LightweightCharts;

const run = JSON.parse(document.getElementById("run-data").textContent);
const byId = (id) => document.getElementById(id);
const MINUS = "\u2212";
const MISSING = "\u2013";
const DAY = 86400;
const AXIS_WIDTH = innerWidth < 640 ? 58 : 78; // the same in both charts, so that one moment is one place on the screen
const PAGE_ROWS = 25;
const MANY_TRADES = 400; // on the screen at once
const LINES = ["--line-1", "--line-2", "--line-3", "--line-4"];

// --- numbers and times -------------------------------------------------------------------------------------------

const decimals = (places, signed) => new Intl.NumberFormat("en-US", {
  minimumFractionDigits: places, maximumFractionDigits: places, signDisplay: signed ? "exceptZero" : "negative",
});
const formats = { 0: [decimals(0, false), decimals(0, true)], 1: [decimals(1, false), decimals(1, true)],
  2: [decimals(2, false), decimals(2, true)] };
const tidy = (text) => text.replace("-", MINUS);
const missing = (value) => value === null || value === undefined || Number.isNaN(value);

function fixed(value, places = 2, signed = false) {
  return missing(value) ? MISSING : tidy(formats[places][signed ? 1 : 0].format(value));
}
function money(value, signed = false) {
  return fixed(value, Math.abs(value) >= 100000 ? 0 : 2, signed);
}
function percent(value, places = 2, signed = false) {
  return missing(value) ? MISSING : `${fixed(value * 100, Math.abs(value) >= 100 ? 0 : places, signed)}%`;
}
function price(value) {
  if (missing(value)) return MISSING;
  const size = Math.abs(value);
  return tidy(new Intl.NumberFormat("en-US", size >= 1 || size === 0
    ? { minimumFractionDigits: 2, maximumFractionDigits: size < 20 ? 4 : 2 }
    : { maximumSignificantDigits: 5 }).format(value));
}
function quantity(value) {
  return missing(value) ? MISSING : tidy(new Intl.NumberFormat("en-US", { maximumSignificantDigits: 8 }).format(value));
}
function compact(value) {
  return missing(value) ? MISSING : tidy(new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }).format(value));
}

const inZone = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: run.zone, ...options });
const zoned = {
  day: inZone({ day: "2-digit", month: "short", year: "numeric" }),
  minute: inZone({ day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }),
  iso: new Intl.DateTimeFormat("sv-SE", { timeZone: run.zone, dateStyle: "short" }),
  isoMinute: new Intl.DateTimeFormat("sv-SE", { timeZone: run.zone, dateStyle: "short", timeStyle: "short" }),
  ticks: [
    inZone({ year: "numeric" }), inZone({ month: "short" }), inZone({ day: "numeric" }),
    inZone({ hour: "2-digit", minute: "2-digit" }), inZone({ hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  ],
};
const moment = (seconds) => (run.daily ? zoned.day : zoned.minute).format(seconds * 1000);
const stamp = (seconds) => missing(seconds) ? MISSING : (run.daily ? zoned.iso : zoned.isoMinute).format(seconds * 1000);

// --- small pieces of the page ------------------------------------------------------------------------------------

function make(tag, { text, className, ...rest } = {}, ...children) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  for (const [name, value] of Object.entries(rest)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A canvas cannot read the page's variables: a hidden element turns each into a colour.
const probe = document.body.appendChild(make("span", { hidden: "" }));
function colour(name, strength = 100) {
  probe.style.color = strength === 100 ? `var(${name})` : `color-mix(in srgb, var(${name}) ${strength}%, transparent)`;
  const [r, g, b, a = 1] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  // color-mix answers with fractions of one, a plain colour with bytes.
  const bytes = getComputedStyle(probe).color.startsWith("color(") ? [r, g, b].map((v) => Math.round(v * 255)) : [r, g, b];
  return `rgba(${bytes.join(",")},${a})`;
}

// --- charts ------------------------------------------------------------------------------------------------------

const charts = new Map(); // name -> { chart, lead, values, legends }

function openChart(name) {
  const box = byId(`chart-${name}`);
  const chart = createChart(box, {
    autoSize: true,
    layout: {
      attributionLogo: false, // the footer names the maker
      background: { type: ColorType.Solid, color: colour("--panel") }, textColor: colour("--soft"),
      fontFamily: getComputedStyle(document.body).fontFamily, fontSize: 11,
      panes: { separatorColor: colour("--rule"), separatorHoverColor: colour("--rule-strong"), enableResize: true },
    },
    grid: { vertLines: { visible: false }, horzLines: { color: colour("--rule", 65) } },
    crosshair: {
      mode: CrosshairMode.Normal,
      vertLine: { color: colour("--faint"), labelBackgroundColor: colour("--soft") },
      horzLine: { color: colour("--faint"), labelBackgroundColor: colour("--soft") },
    },
    rightPriceScale: { borderVisible: false, minimumWidth: AXIS_WIDTH },
    timeScale: {
      borderColor: colour("--rule-strong"), timeVisible: !run.daily, minBarSpacing: 0.01, rightOffset: 0,
      fixLeftEdge: true, fixRightEdge: true, tickMarkFormatter: (at, kind) => zoned.ticks[kind].format(at * 1000),
    },
    localization: { timeFormatter: moment },
    // The wheel scrolls the page; with Ctrl, or by pinching, it zooms.
    handleScroll: { mouseWheel: false, vertTouchDrag: false }, handleScale: { mouseWheel: false },
  });
  const held = { chart, box, lead: null, values: null, legends: [], settled: false, gone: false };
  charts.set(name, held);
  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => followRange(name, range));
  chart.subscribeCrosshairMove((at) => followCrosshair(name, at));
  return held;
}

const points = (values) => run.axis.map((time, at) => (values[at] === null ? { time } : { time, value: values[at] }));

function addLine(held, kind, values, pane, options) {
  const series = held.chart.addSeries(kind, { lastValueVisible: false, priceLineVisible: false, lineWidth: 2, ...options }, pane);
  series.setData(points(values));
  return series;
}

// One line of words in the corner of a pane: `entries(at)` gives, for a place on the axis,
// [label, shown, colour, whether a small screen leaves it out].
function addLegend(held, pane, entries) {
  const element = make("div", { className: "legend" });
  held.box.append(element);
  held.legends.push({ element, pane, entries });
}

function tell(held, at) {
  const place = at ?? Math.min(Math.max(Math.floor(view.to), 0), run.axis.length - 1); // the last one in view
  for (const { element, entries } of held.legends) {
    element.replaceChildren(...entries(place).map(([label, shown, swatch, more]) => {
      const part = make("span");
      if (more) part.className = "more";
      if (swatch) {
        const mark = make("i", { className: "swatch" });
        mark.style.background = swatch;
        part.append(mark);
      }
      part.append(label ? `${label} ` : "", make("b", { text: shown }));
      return part;
    }));
  }
}

function placeLegends(held) {
  const top = held.box.getBoundingClientRect().top;
  for (const { element, pane } of held.legends) {
    const place = held.chart.panes()[pane]?.getHTMLElement();
    if (place) element.style.top = `${place.getBoundingClientRect().top - top + 5}px`;
  }
}

// What both charts show, counted in points of the axis.
let view = { from: 0, to: run.axis.length - 1 };
let following = false;
function followRange(name, range) {
  // A chart that is still being laid out tells of ranges that nobody asked for.
  if (following || !range || !charts.get(name)?.settled) return;
  view = range;
  following = true;
  for (const [other, held] of charts) if (other !== name) held.chart.timeScale().setVisibleLogicalRange(range);
  following = false;
  markRange(range);
}

function followCrosshair(name, at) {
  const held = charts.get(name);
  const place = at.logical === undefined || at.time === undefined ? null : Math.min(Math.max(Math.round(at.logical), 0), run.axis.length - 1);
  tell(held, place);
  if (!at.sourceEvent) return; // moved by us
  for (const [other, { chart, lead, values }] of charts) {
    if (other === name) continue;
    if (place === null || missing(values[place])) chart.clearCrosshairPosition();
    else chart.setCrosshairPosition(values[place], run.axis[place], lead);
  }
}

function showRange(from, to) {
  view = { from, to };
  following = true;
  for (const held of charts.values()) {
    held.chart.timeScale().setVisibleLogicalRange(view);
    tell(held, null);
  }
  following = false;
  markRange(view);
}
const showAll = () => showRange(0, run.axis.length - 1);

function drawPerformance() {
  const held = openChart("performance");
  const { equity, benchmark, drawdown, benchmark_drawdown: held_drawdown, exposure } = run.curves;
  const accent = colour("--accent");
  const grey = colour("--hold");
  const fall = colour("--loss");
  const cash = { type: "custom", minMove: 0.01, formatter: compactMoney };
  const share = { type: "custom", minMove: 0.0001, formatter: (v) => percent(v, 0) };
  if (benchmark) addLine(held, LineSeries, benchmark, 0, { color: grey, lineWidth: 1, priceFormat: cash });
  held.lead = addLine(held, AreaSeries, equity, 0, {
    lineColor: accent, topColor: colour("--accent", 16), bottomColor: colour("--accent", 1), priceFormat: cash });
  held.values = equity;
  held.lead.priceScale().applyOptions({
    mode: byId("log-equity").checked ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal, scaleMargins: { top: 0.14, bottom: 0.05 } });
  addLegend(held, 0, (at) => [["", moment(run.axis[at])], ["Strategy", money(equity[at]), accent],
    ...(benchmark ? [["Buy & hold", money(benchmark[at]), grey]] : [])]);
  if (held_drawdown) addLine(held, LineSeries, held_drawdown, 1, { color: grey, lineWidth: 1, priceFormat: share });
  addLine(held, BaselineSeries, drawdown, 1, {
    ...filled("--loss", "--loss"), lineWidth: 1, priceFormat: share }).priceScale().applyOptions({ scaleMargins: { top: 0.27, bottom: 0.05 } });
  addLegend(held, 1, (at) => [["Drawdown", percent(drawdown[at], 1), fall],
    ...(held_drawdown ? [["Buy & hold", percent(held_drawdown[at], 1), grey]] : [])]);
  if (exposure) {
    addLine(held, BaselineSeries, exposure, 2, {
      ...filled("--line-3", "--line-2"), lineWidth: 1, lineType: 1, priceFormat: share }).priceScale().applyOptions({ scaleMargins: { top: 0.36, bottom: 0.04 } });
    addLegend(held, 2, (at) => [["Exposure", percent(exposure[at], 0), colour("--line-3")]]);
  }
  [5, 2, 1.5].forEach((factor, pane) => held.chart.panes()[pane]?.setStretchFactor(factor));
  finish(held);
}

// A line whose distance from zero is filled, in one colour above it and another below.
function filled(above, below) {
  return {
    baseValue: { type: "price", price: 0 }, topLineColor: colour(above), bottomLineColor: colour(below),
    topFillColor1: colour(above, 28), topFillColor2: colour(above, 10), bottomFillColor1: colour(below, 8), bottomFillColor2: colour(below, 28),
  };
}

function compactMoney(value) {
  return Math.abs(value) >= 1e6 ? compact(value) : fixed(value, Math.abs(value) >= 1000 ? 0 : 2);
}

// Each trade where it happened: a triangle at the entry, a dot at the exit, a dashed line between them.
class TradeMarks {
  constructor(trades) {
    this.trades = trades;
    this.colours = Object.fromEntries(["accent", "line-2", "gain", "loss", "panel"].map((name) => [name, colour(`--${name}`)]));
  }

  attached({ chart, series }) {
    this.chart = chart;
    this.series = series;
  }

  paneViews() {
    const view = (zOrder, paintTrade) => ({ zOrder: () => zOrder, renderer: () => ({
      draw: (target) => target.useMediaCoordinateSpace(({ context }) => this.draw(context, paintTrade)) }) });
    return [view("normal", this.line), view("top", this.marks)];
  }

  draw(context, paintTrade) {
    const scale = this.chart.timeScale();
    const range = scale.getVisibleLogicalRange();
    if (!range) return;
    // Smaller where many bars share few pixels, so that a busy year stays readable.
    const visible = this.trades.filter((trade) => (trade.exit_at ?? run.axis.length) >= range.from && trade.entry_at <= range.to);
    const size = visible.length > MANY_TRADES ? 2 : Math.min(6.5, 4 + scale.options().barSpacing / 3);
    context.save();
    for (const trade of visible) {
      const place = (at, price) => (at === null ? null : [scale.logicalToCoordinate(at), this.series.priceToCoordinate(price)]);
      paintTrade.call(this, context, trade, place(trade.entry_at, trade.entry_price), place(trade.exit_at, trade.exit_price), size);
    }
    context.restore();
  }

  line(context, trade, entry, exit) {
    if (!exit || [...entry, ...exit].includes(null)) return;
    context.strokeStyle = this.colours[trade.pnl >= 0 ? "gain" : "loss"];
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(...entry);
    context.lineTo(...exit);
    context.stroke();
  }

  marks(context, trade, entry, exit, size) {
    context.lineWidth = 1;
    context.strokeStyle = size > 2 ? this.colours.panel : "transparent";
    if (!entry.includes(null)) {
      const [x, y] = entry;
      const tip = trade.side === "short" ? 1 : -1;
      context.fillStyle = this.colours[trade.side === "short" ? "line-2" : "accent"];
      context.beginPath();
      context.moveTo(x, y + tip * size);
      context.lineTo(x - size, y - tip * size * 0.8);
      context.lineTo(x + size, y - tip * size * 0.8);
      context.closePath();
      context.fill();
      context.stroke();
    }
    if (exit && !exit.includes(null)) {
      context.fillStyle = this.colours[trade.pnl >= 0 ? "gain" : "loss"];
      context.beginPath();
      context.arc(...exit, size * 0.75, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }
}

const shown = { symbol: 0, indicators: new Set() };
const symbolNames = run.symbols.map((symbol) => symbol.name);
const firstWord = (name) => name.replace(/[\s_.]*(\[\d+\]|\d+)$/, "");
run.indicators.forEach((indicator, at) => {
  const sameKind = [...shown.indicators].filter((other) => run.indicators[other].on_prices === indicator.on_prices);
  if (sameKind.length < (indicator.on_prices ? 6 : 3)) shown.indicators.add(at);
});
const belongs = (indicator) => indicator.symbol === null || indicator.symbol === symbolNames[shown.symbol];

function drawPrices() {
  const held = openChart("prices");
  const symbol = run.symbols[shown.symbol];
  const { open, high, low, close, volume } = symbol;
  const [gain, loss] = [colour("--gain"), colour("--loss")];
  const candles = held.chart.addSeries(CandlestickSeries, {
    upColor: gain, downColor: loss, wickUpColor: gain, wickDownColor: loss, borderVisible: false,
    lastValueVisible: false, priceLineVisible: false, priceFormat: { type: "custom", minMove: 1e-6, formatter: (value) => (value < 0 ? "" : price(value)) } });
  candles.setData(run.axis.map((time, at) => close[at] === null ? { time }
    : { time, open: open[at], high: high[at], low: low[at], close: close[at] }));
  candles.priceScale().applyOptions({
    mode: byId("log-prices").checked ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal, scaleMargins: { top: 0.12, bottom: 0.2 } });
  held.lead = candles;
  held.values = close;
  drawVolume(held, symbol);
  const trades = run.trades.filter((trade) => trade.symbol === symbol.name && trade.entry_at !== null);
  candles.attachPrimitive(new TradeMarks(trades));
  const onPrices = drawIndicators(held);
  addLegend(held, 0, (at) => [["", moment(run.axis[at])], ["O", price(open[at]), "", true],
    ["H", price(high[at]), "", true], ["L", price(low[at]), "", true], ["C", price(close[at])], ["Vol", compact(volume[at]), "", true], ...onPrices.map(([name, values, swatch]) => [name, price(values[at]), swatch])]);
  held.chart.panes().forEach((pane, at) => pane.setStretchFactor(at === 0 ? 5 : 1.5));
  finish(held);
}

function drawVolume(held, { open, close, volume }) {
  if (!volume.some((value) => value > 0)) return;
  const series = held.chart.addSeries(HistogramSeries, {
    priceScaleId: "volume", lastValueVisible: false, priceLineVisible: false, priceFormat: { type: "volume" } });
  const [up, down] = [colour("--gain", 24), colour("--loss", 24)];
  series.setData(run.axis.map((time, at) => volume[at] === null ? { time } : { time, value: volume[at], color: close[at] >= open[at] ? up : down }));
  series.priceScale().applyOptions({ scaleMargins: { top: 0.86, bottom: 0 } });
}

function drawIndicators(held) {
  const onPrices = [];
  const panes = new Map(); // outputs of one indicator share a pane
  let used = 0;
  for (const at of [...shown.indicators].sort((a, b) => a - b)) {
    const indicator = run.indicators[at];
    if (!belongs(indicator)) continue;
    const swatch = colour(LINES[used++ % LINES.length]);
    const options = { color: swatch, lineWidth: 1, priceFormat: { type: "custom", minMove: 1e-6, formatter: price } };
    if (indicator.on_prices) {
      addLine(held, LineSeries, indicator.values, 0, options);
      onPrices.push([indicator.name, indicator.values, swatch]);
      continue;
    }
    const word = firstWord(indicator.name);
    if (!panes.has(word)) panes.set(word, { pane: panes.size + 1, members: [] });
    const { pane, members } = panes.get(word);
    members.push([indicator.name, indicator.values, swatch]);
    addLine(held, LineSeries, indicator.values, pane, options);
    if (members.length === 1) addLegend(held, pane, (place) => members.map(([name, values, tint]) => [name, price(values[place]), tint]));
  }
  return onPrices;
}

function finish(held) {
  held.chart.timeScale().setVisibleLogicalRange(view);
  tell(held, null);
  // A pane gets its height when the chart is laid out, and another when a separator is dragged.
  const watch = new ResizeObserver(() => placeLegends(held));
  const begin = () => {
    if (held.gone) return;
    const panes = held.chart.panes().map((pane) => pane.getHTMLElement());
    if (panes.includes(null)) {
      requestAnimationFrame(begin);
      return;
    }
    panes.forEach((pane) => watch.observe(pane));
    held.chart.timeScale().setVisibleLogicalRange(view);
    requestAnimationFrame(() => { held.settled = true; });
  };
  begin();
}

function redraw(...names) {
  for (const name of names) {
    const held = charts.get(name);
    if (held) {
      charts.delete(name);
      held.gone = true;
      held.chart.remove();
      held.box.replaceChildren();
    }
    draw[name]();
  }
}
const draw = { performance: drawPerformance, prices: drawPrices };
const drawn = [run.curves.equity ? "performance" : null, run.symbols.length ? "prices" : null].filter(Boolean);

// --- controls of the charts --------------------------------------------------------------------------------------

const span = run.axis.length ? run.axis.at(-1) - run.axis[0] : 0;
const RANGES = [["1D", 1], ["1W", 7], ["1M", 30.5], ["6M", 182.6], ["1Y", 365.25], ["3Y", 1095.75], ["5Y", 1826.25]]
  .filter(([, days]) => days * DAY < span * 0.9).slice(-4);

function fillRanges() {
  for (const box of document.querySelectorAll("[data-ranges]")) {
    for (const [label, days] of [...RANGES, ["All", null]]) {
      const button = make("button", { type: "button", text: label, "aria-pressed": String(days === null) });
      button.addEventListener("click", () => {
        const from = days === null ? 0 : run.axis.findIndex((time) => time >= run.axis.at(-1) - days * DAY);
        showRange(from, run.axis.length - 1);
      });
      button.dataset.days = days ?? "";
      box.append(button);
    }
  }
}

function markRange({ from, to }) {
  const last = run.axis.length - 1;
  const begin = run.axis[Math.min(Math.max(Math.round(from), 0), last)];
  for (const button of document.querySelectorAll("[data-ranges] button")) {
    const days = Number(button.dataset.days);
    const whole = from < 0.5 && to > last - 0.5;
    const fits = button.dataset.days === "" ? whole
      : !whole && to > last - 0.5 && Math.abs(begin - (run.axis.at(-1) - days * DAY)) <= Math.max(4 * DAY, days * DAY * 0.01);
    button.setAttribute("aria-pressed", String(fits));
  }
}

function fillSymbols() {
  const select = byId("symbol");
  if (!select) return;
  symbolNames.forEach((name, at) => select.append(make("option", { value: String(at), text: name })));
  select.addEventListener("change", () => chooseSymbol(Number(select.value)));
}

function chooseSymbol(at) {
  shown.symbol = at;
  if (byId("symbol")) byId("symbol").value = String(at);
  fillIndicators();
  redraw("prices");
}

function fillIndicators() {
  const box = byId("indicators");
  if (!box) return;
  box.replaceChildren(...run.indicators.flatMap((indicator, at) => {
    if (!belongs(indicator)) return [];
    const button = make("button", { type: "button", text: indicator.name, "aria-pressed": String(shown.indicators.has(at)) });
    button.addEventListener("click", () => {
      if (!shown.indicators.delete(at)) shown.indicators.add(at);
      button.setAttribute("aria-pressed", String(shown.indicators.has(at)));
      redraw("prices");
    });
    return [button];
  }));
}

function listenToKeys(box) {
  box.addEventListener("keydown", (event) => {
    const range = view;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const width = range.to - range.from;
    const last = run.axis.length - 1;
    const move = (by) => {
      const allowed = Math.max(-range.from, Math.min(by, last - range.to));
      showRange(range.from + allowed, range.to + allowed);
    };
    const zoom = (by) => showRange(Math.max(0, range.from + by), Math.min(last, Math.max(range.to - by, range.from + by + 5)));
    const actions = { ArrowLeft: () => move(-width / 8), ArrowRight: () => move(width / 8), "+": () => zoom(width / 8),
      "=": () => zoom(width / 8), "-": () => zoom(-width / 6), Home: showAll };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}

// With Ctrl (which a pinch on a touchpad also sends) the wheel zooms around the pointer; without, the page scrolls.
function listenToWheel(box) {
  box.addEventListener("wheel", (event) => {
    const range = view;
    if (!event.ctrlKey) return;
    event.preventDefault();
    const place = Math.min(1, Math.max(0, event.offsetX / (box.clientWidth - AXIS_WIDTH)));
    const width = (range.to - range.from) * (event.deltaY > 0 ? 1.15 : 1 / 1.15);
    const centre = range.from + place * (range.to - range.from);
    showRange(Math.max(0, centre - place * width), Math.min(run.axis.length - 1, centre + (1 - place) * width));
  }, { passive: false });
}

// --- trades ------------------------------------------------------------------------------------------------------

const signedTone = (value) => (value > 0 ? "gain" : value < 0 ? "loss" : "");
const COLUMNS = [
  { key: "id", label: "#", cell: (t) => showButton(t) },
  { key: "symbol", label: "Symbol", only: () => symbolNames.length > 1 || new Set(run.trades.map((t) => t.symbol)).size > 1 },
  { key: "side", label: "Side", cell: (t) => make("span", { className: "side", text: t.is_partial ? `${t.side}, part` : t.side }) },
  { key: "qty", label: "Quantity", right: true, text: (t) => quantity(t.qty) },
  { key: "entry_time", label: "Entry", text: (t) => stamp(t.entry_time) },
  { key: "entry_price", label: "at", right: true, text: (t) => price(t.entry_price) },
  { key: "exit_time", label: "Exit", text: (t) => (t.exit_time === null ? "open" : stamp(t.exit_time)) },
  { key: "exit_price", label: "at", right: true, text: (t) => price(t.exit_price) },
  { key: "pnl", label: "Profit", right: true, text: (t) => money(t.pnl, true), tone: (t) => signedTone(t.pnl) },
  { key: "pnl_pct", label: "Return", right: true, text: (t) => percent(t.pnl_pct, 2, true), tone: (t) => signedTone(t.pnl_pct) },
  { key: "bars_held", label: "Bars", right: true, text: (t) => fixed(t.bars_held, 0) },
  { key: "fees", label: "Fees", right: true, text: (t) => money(t.fees) },
  { key: "exit_reason", label: "Why", words: true, text: (t) => [t.entry_reason, t.exit_reason].filter(Boolean).join(" → "), only: () => run.trades.some((t) => t.entry_reason || t.exit_reason) },
].filter((column) => !column.only || column.only());
const FILTERS = { all: () => true, won: (t) => t.pnl > 0, lost: (t) => t.pnl < 0, open: (t) => t.exit_time === null };
const listed = { key: "id", down: false, filter: "all", page: 0 };

function showButton(trade) {
  const place = symbolNames.indexOf(trade.symbol);
  if (place < 0 || trade.entry_at === null) return make("span", { text: String(trade.id) });
  const button = make("button", { type: "button", className: "show", text: String(trade.id), "aria-label": `Show trade ${trade.id} on the chart` });
  button.addEventListener("click", () => {
    if (place !== shown.symbol) chooseSymbol(place);
    const to = trade.exit_at ?? run.axis.length - 1;
    const room = Math.max(20, (to - trade.entry_at) * 0.6);
    showRange(Math.max(0, trade.entry_at - room), Math.min(run.axis.length - 1, to + room));
    byId("prices").scrollIntoView();
    byId("chart-prices").focus({ preventScroll: true });
  });
  return button;
}

function compare(a, b) {
  const [left, right] = [a[listed.key], b[listed.key]];
  if (left === right) return (a.id ?? 0) - (b.id ?? 0);
  if (missing(left)) return 1; // what is not known comes last, whichever way
  if (missing(right)) return -1;
  const order = typeof left === "string" ? left.localeCompare(right) : left - right;
  return listed.down ? -order : order;
}

function listTrades() {
  const found = run.trades.filter(FILTERS[listed.filter]).sort(compare);
  const pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS));
  listed.page = Math.min(listed.page, pages - 1);
  const from = listed.page * PAGE_ROWS;
  byId("trade-table").tBodies[0].replaceChildren(...found.slice(from, from + PAGE_ROWS).map(tradeRow));
  byId("trade-table").querySelectorAll("th").forEach((head) => {
    head.setAttribute("aria-sort", head.dataset.key !== listed.key ? "none" : listed.down ? "descending" : "ascending");
  });
  byId("trade-pager").hidden = pages === 1 && found.length === run.trades.length;
  byId("trade-page").textContent = found.length
    ? `${fixed(from + 1, 0)}–${fixed(Math.min(from + PAGE_ROWS, found.length), 0)} of ${fixed(found.length, 0)}` : "none";
  const [back, forth] = byId("trade-pager").querySelectorAll("button");
  back.disabled = listed.page === 0;
  forth.disabled = listed.page >= pages - 1;
}

function tradeRow(trade) {
  return make("tr", {}, ...COLUMNS.map(({ key, right, words, cell, text, tone }) => {
    const className = [right ? "num" : "", words ? "words" : "", tone ? tone(trade) : ""].filter(Boolean).join(" ");
    return cell ? make("td", { className }, cell(trade)) : make("td", { className, text: text ? text(trade) : trade[key] });
  }));
}

function openTrades() {
  if (!byId("trade-table")) return;
  byId("trade-table").tHead.append(make("tr", {}, ...COLUMNS.map(({ key, label, right }) => {
    const button = make("button", { type: "button", text: label });
    button.addEventListener("click", () => {
      // Numbers are first sorted from the largest: that is what one looks for.
      Object.assign(listed, { key, page: 0, down: listed.key === key ? !listed.down : Boolean(right) });
      listTrades();
    });
    return make("th", { scope: "col", className: right ? "right" : "", "data-key": key }, button);
  })));
  byId("trade-filter").addEventListener("change", (event) => {
    Object.assign(listed, { filter: event.target.value, page: 0 });
    listTrades();
  });
  byId("trade-pager").addEventListener("click", (event) => {
    listed.page += Number(event.target.dataset?.turn ?? 0);
    listTrades();
  });
  listTrades();
}

// --- theme and printing ------------------------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : dark.matches);

function paint(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  byId("theme-word").textContent = isDark() ? "Light" : "Dark";
  redraw(...drawn);
}

function openTheme() {
  byId("theme-word").textContent = isDark() ? "Light" : "Dark";
  byId("theme").addEventListener("click", () => paint(isDark() ? "light" : "dark"));
  dark.addEventListener("change", () => paint(document.documentElement.dataset.theme));
  let before;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    for (const details of document.querySelectorAll("details")) details.open = true;
    paint("light");
  });
  addEventListener("afterprint", () => paint(before));
}

// --- begin -------------------------------------------------------------------------------------------------------

openTheme();
openTrades();
fillRanges();
fillSymbols();
fillIndicators();
redraw(...drawn);
for (const name of drawn) {
  listenToKeys(byId(`chart-${name}`));
  listenToWheel(byId(`chart-${name}`));
}
byId("log-equity")?.addEventListener("change", () => redraw("performance"));
byId("log-prices")?.addEventListener("change", () => redraw("prices"));
document.documentElement.dataset.ready = "yes";
