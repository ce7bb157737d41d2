"""The programs of strategies that hold several instruments at once: fixed weights, rotation, pairs."""

from __future__ import annotations

from ringfence.trade.description.code.conditions import Expressions, schedule
from ringfence.trade.description.code.program import Program, condition_lines
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import (
    Allocation,
    Basket,
    Choice,
    Description,
    EveryBars,
    Levelled,
    OnSchedule,
    Pair,
    Rotation,
)


def allocation_code(description: Description, program: Program) -> str:
    plan = description.plan
    assert isinstance(plan, Allocation)
    program.class_name = "Weights" if plan.weights else "EqualWeights"
    weights = _weights(plan, program)
    program.started = ["self.invested = False"]
    due = ["not self.invested"]
    if plan.rebalance is not None:
        due.append(_due(plan.rebalance, program))
    body = [
        *condition_lines("if", "or", due, 8),
        f'    self.rebalance({weights}, reason="rebalance")',
        "    self.invested = True",
    ]
    return program.text(body)


def _weights(plan: Allocation, program: Program) -> str:
    if not plan.weights:
        return f"{{symbol: 1 / len({program.every_symbol}) for symbol in {program.every_symbol}}}"
    names = program.names
    made = [
        f'"{symbol}": {names.percent(f"weight_{n}", weight, 1.0)}'
        for n, (symbol, weight) in enumerate(zip(program.symbols, plan.weights), 1)
    ]
    return "{" + ", ".join(made) + "}"


def _due(when: OnSchedule | EveryBars, program: Program) -> str:
    if isinstance(when, EveryBars):
        return f"len(self.data) % {program.names.count('every_bars', when.bars)} == 0"
    program.dated = True
    text = schedule(when, program.functions)
    return f"({text})" if " and " in text else text


def rotation_code(description: Description, program: Program) -> str:
    plan = description.plan
    assert isinstance(plan, Rotation)
    program.class_name = "Rotation"
    names = program.names
    names.declare(lines_of((plan.rank, plan.also, plan.only)))
    says = Expressions(names=names, data="self.data[symbol]", functions=program.functions)
    rank = " + ".join(says.value(one) for one in (plan.rank, *plan.also))  # their sum ranks as their average does
    program.started = ["self.invested = False"]
    due = ["not self.invested", _due(plan.rebalance, program)]
    most = len(program.symbols) or plan.count * 2
    count = names.parameter("count", plan.count, max(1, plan.count // 2), max(plan.count, min(plan.count * 2, most)))
    among = program.every_symbol
    body = [*condition_lines("if", "or", due, 8), "    self.invested = True", "    self.choose()"]
    only = says.of(plan.only) if plan.only else ""
    program.dated = program.dated or says.dated
    order = ", reverse=True" if plan.highest else ""
    method = [
        "def choose(self):",
        f'    """Hold the {"first" if plan.highest else "last"} of the ranking, in equal parts."""',
    ]
    if only and plan.chosen_first:
        method += [
            f"    ranked = sorted({among}, key=lambda symbol: {rank}{order})",
            f"    fit = [symbol for symbol in ranked[: {count}] if {only}]",
            f"    weights = dict.fromkeys(fit, 1 / {count})",
        ]
    else:
        method += [
            *([f"    fit = [symbol for symbol in {among} if {only}]"] if only else []),
            f"    ranked = sorted({'fit' if only else among}, key=lambda symbol: {rank}{order})",
            f"    weights = dict.fromkeys(ranked[: {count}], 1 / {count})",
        ]
    if plan.otherwise:
        method += [
            f"    missing = {count} - len(weights)",
            "    if missing > 0:  # fewer than wanted were fit to hold",
            f'        weights["{plan.otherwise}"] = weights.get("{plan.otherwise}", 0) + missing / {count}',
        ]
    method.append('    self.rebalance(weights, reason="rotation")')
    program.methods.append("\n".join(method))
    early = says.too_early()
    each = " or ".join(text for text in early if "[symbol]" in text)
    early = [text for text in early if "[symbol]" not in text]
    early += [f"any({each} for symbol in {among})"] if each else []
    return program.text([*condition_lines("if", "or", early, 8), "    return", *body] if early else body)


def choice_code(description: Description, program: Program) -> str:
    plan = description.plan
    assert isinstance(plan, Choice)
    program.class_name = "TwoBaskets"
    names = program.names
    names.declare(lines_of(plan.rule))
    says = Expressions(names=names, data="self.data", functions=program.functions)
    connective, parts = says.parts(plan.rule)
    due = ["not self.invested", _due(plan.rebalance, program)]
    program.dated = program.dated or says.dated
    program.started = ["self.invested = False"]
    method = [
        "def choose(self):",
        '    """What is held from now on."""',
        *(f"    {line}" for line in condition_lines("if", connective, parts, 12)),
        f"        return {_basket(plan.held, 'weight', program)}",
        f"    return {_basket(plan.other, 'other_weight', program)}",
    ]
    program.methods.append("\n".join(method))
    body = [
        *condition_lines("if", "or", due, 8),
        "    self.invested = True",
        '    self.rebalance(self.choose(), reason="choice")',
    ]
    early = says.too_early()
    return program.text([*condition_lines("if", "or", early, 8), "    return", *body] if early else body)


def _basket(held: Basket, name: str, program: Program) -> str:
    count = len(held.symbols)
    shares = [f"1 / {count}" if count > 1 else "1"] * count
    if held.weights:
        shares = [program.names.percent(f"{name}_{n}", weight, 1.0) for n, weight in enumerate(held.weights, 1)]
    return "{" + ", ".join(f'"{symbol}": {share}' for symbol, share in zip(held.symbols, shares)) + "}"


def levelled_code(description: Description, program: Program) -> str:
    """Out on any bar on which the rule fails; in again, or put right, at the size of that day."""
    plan = description.plan
    assert isinstance(plan, Levelled)
    program.class_name = "LevelVolatility"
    names, target = program.names, plan.target
    names.declare(lines_of(plan.only))
    says = Expressions(names=names, data="data", functions=program.functions)
    connective, parts = says.parts(plan.only) if plan.only else ("and", [])
    name = "volatility" if "volatility" not in names.series.values() else "own_volatility"
    program.functions.add("volatility")
    year = "" if target.bars_per_year == 252 else f", {target.bars_per_year}"
    period = names.count("volatility_bars", target.period)
    program.extra_init[name] = f"self.I(volatility, data.close, {period}{year})"
    percent = names.number("volatility_target", target.percent)
    due = ["not position", _due(plan.rebalance, program)]
    program.dated = program.dated or says.dated
    held = [
        *condition_lines("if", "or", due, 12),
        f"    share = min({percent} / max(self.{name}[-1], 0.01), 1)",
        '    self.rebalance({self.symbol: share}, reason="volatility")',
    ]
    early = says.too_early()
    uses_data = any("data." in text or "data)" in text for text in [*parts, *early])
    body = [
        "if self.orders:  # they wait for a bar of their own",
        "    return",
        *(["data = self.data[self.symbol]"] if uses_data else []),
        "position = self.position(self.symbol)",
        *([*condition_lines("if", "or", early, 8), "    return"] if early else []),
    ]
    if parts:
        body += [*condition_lines("if", connective, parts, 8), *(f"    {text}" for text in held)]
        body += ["elif position:", '    position.close(reason="rule")']
    else:
        body += held
    return program.text(body)


def pair_code(description: Description, program: Program) -> str:
    """The two lines may miss bars of their own, so the ratio is kept by the program and not by an indicator."""
    plan = description.plan
    assert isinstance(plan, Pair)
    program.class_name = "PairTrade"
    names = program.names
    first, second = description.symbols
    period = names.count("period", plan.period)
    entry = names.number("entry_score", plan.entry)
    leave = names.number("exit_score", plan.exit) if plan.exit else "0"
    program.functions.add("np")
    program.started = ["self.history = []"]
    sign = "-" if plan.measure == "spread" else "/"
    value = f'self.data["{first}"].close[-1] {sign} self.data["{second}"].close[-1]'
    value = f"np.log({value})" if plan.measure == "log ratio" else value
    share = "0.5" if plan.percent == 50 else names.percent("share", plan.percent, 0.5)
    give_up = f" or abs(score) > {names.number('give_up_score', plan.stop)}" if plan.stop else ""
    if plan.time_stop_bars:
        give_up += f" or self.bars_held >= {names.count('time_stop_bars', plan.time_stop_bars)}"
        program.started.append("self.bars_held = 0")
    body = [
        f'if not len(self.data["{first}"]) or not len(self.data["{second}"]):  # one of them begins later',
        "    return",
        f"self.history.append({value})",
        f"if len(self.history) < {period}:",
        "    return",
        f"window = self.history[-{period} :]",
        "spread = np.std(window)",
        "score = (window[-1] - np.mean(window)) / spread if spread else 0.0",
        f'held = self.position("{first}")',
        *(["self.bars_held = self.bars_held + 1 if held else 0"] if plan.time_stop_bars else []),
        "if not held:",
        *([f"    if abs(score) > {names.number('give_up_score', plan.stop)}:", "        return"] if plan.stop else []),
        f"    if score > {entry}:  # {first} is dear",
        f'        self.rebalance({{"{first}": -{share}, "{second}": {share}}}, reason="dear")',
        f"    elif score < -{entry}:  # {first} is cheap",
        f'        self.rebalance({{"{first}": {share}, "{second}": -{share}}}, reason="cheap")',
        f"elif (score >= -{leave} if held.is_long else score <= {leave}){give_up}:"
        if leave != "0"
        else f"elif (score >= 0 if held.is_long else score <= 0){give_up}:",
        '    self.rebalance({}, reason="exit")',
    ]
    return program.text(body)
