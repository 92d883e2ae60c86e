"""Race this project's judge against EvalPlus 0.3.1 on the same samples, back to back, and compare the verdicts.

EVALOOOP_DATA=folder python -m benchmarks.judge_vs_evalplus

The samples are the programs of loop 1 of published transcripts. EvalPlus is installed into an environment of its own
at the first call, and computes its reference outputs once, which takes minutes and 4 GB of memory. Both sides have
the reference outputs at hand when the race starts; our store holds the measured references and no program.

What is measured: a side is one command, waited for with ``wait4``. CPU time is user and system time of that process
and of all below it that were waited for, which they all are: EvalPlus joins what it forks, and with us the zygote
waits for the programs, bubblewrap for the zygote, and the judge for bubblewrap. Wall time ends when the results are
written: EvalPlus then sleeps for up to 20 more seconds, which are not counted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from benchmarks.measuring import heading, table
from evalooop import datasets
from evalooop.config import SandboxConfig
from evalooop.errors import UserError, exit_with_one_line
from evalooop.judging import check_references, judge_programs
from evalooop.published import find_transcripts, read_transcripts
from evalooop.sandbox.judgement import Judgement
from evalooop.store import Store
from evalooop.tasks import Task
from scripts.execute import DATASETS, bar, open_dataset

EVALPLUS = "0.3.1"
DATA = Path("mbppplus", "MbppPlus.jsonl.gz")
# What is judged again to see who is right gets all the time and memory it may want.
PATIENT = SandboxConfig(cpu_seconds=64, test_cpu_seconds=64, memory_mb=4096)
GROUND_TRUTH = """
from evalplus.evaluate import *
get_groundtruth(get_mbpp_plus(), get_mbpp_plus_hash(), MBPP_OUTPUT_NOT_NONE_TASKS)
"""


@dataclass(frozen=True)
class Measured:
    """What a side took: seconds of wall and of CPU, and the largest process it had, in MiB; load when it began."""

    wall: float
    cpu: float
    largest_mb: float
    load: float


@dataclass(frozen=True)
class References:
    """What judging all references took, split into programs and trusted side; ``peak_mb`` is the trusted side's."""

    passed: int
    wall: float
    programs_cpu: float
    trusted_cpu: float
    peak_mb: float


@dataclass(frozen=True)
class Outcome:
    """Whether a program passed base, and base and plus, with the side's own words for it."""

    base: bool
    both: bool
    words: str


def main() -> None:
    arguments = parse_arguments()
    paths = find_transcripts()
    if missing := [model for model in arguments.models if model not in paths]:
        raise UserError(f"--models: no transcripts of {', '.join(missing)}; there are {', '.join(paths)}")
    workers = arguments.workers or len(os.sched_getaffinity(0))
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    evalplus = EvalPlus(folder, workers)
    tasks = ready_tasks()
    print(heading())
    print(reference_table(measure_references(tasks, folder, workers)), flush=True)
    rows, differing = [], []
    for model in tqdm(arguments.models, desc="models", file=sys.stderr):
        samples = write_samples(folder / f"{model}.jsonl", paths[model])
        theirs, their_outcomes = evalplus.run(samples)
        ours, our_outcomes = run_ours(samples, folder, workers)
        rows += race_rows(model, (theirs, their_outcomes), (ours, our_outcomes))
        programs = {row["task_id"]: row["solution"] for row in read_jsonl(samples)}
        differing += differences(model, their_outcomes, our_outcomes, tasks, programs)
    print(
        table(
            ("samples", "side", "load before", "wall s", "CPU s", "largest process MiB", "base", "base and plus"), rows
        )
    )
    print(differences_table(differing))


# ---------------------------------------------------------------- both sides


def write_samples(path: Path, transcripts: Path) -> Path:
    """Write the programs of loop 1 of a model's transcripts in EvalPlus's format."""
    rows = [{"task_id": row.task, "solution": row.cycles[0].code} for row in read_transcripts(transcripts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def measure(command: Sequence[str | Path], results: Path, environment: Mapping[str, str], folder: Path) -> Measured:
    """Run a command that writes a results file.

    Raises:
        UserError: it fails; says where its output is.
    """
    results.unlink(missing_ok=True)
    log = results.with_suffix(".log")
    load, started = os.getloadavg()[0], time.time()
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or not results.is_file():
        raise UserError(f"{command[0]} ended with {process.returncode}, see {log}")
    return Measured(
        wall=results.stat().st_mtime - started,
        cpu=usage.ru_utime + usage.ru_stime,
        largest_mb=usage.ru_maxrss / 1024,
        load=load,
    )


def read_jsonl(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# ---------------------------------------------------------------- EvalPlus


class EvalPlus:
    """EvalPlus in an environment of its own, with its reference outputs computed."""

    def __init__(self, folder: Path, workers: int) -> None:
        """Install it and compute its reference outputs, unless an earlier call has.

        Raises:
            UserError: it cannot be installed, or the data set is missing.
        """
        self._folder = folder
        self._workers = workers
        self._python = folder / "venv" / "bin" / "python"
        self._environment = {
            "XDG_CACHE_HOME": str(folder / "cache"),
            "MBPP_OVERRIDE_PATH": str(unpacked_data(folder)),
        }
        if not self._is_installed():
            self._install()
        if not any((folder / "cache").rglob("*.pkl")):
            print("EvalPlus computes its reference outputs: minutes, and 4 GB of memory", file=sys.stderr)
            self._call("-c", GROUND_TRUTH)

    def run(self, samples: Path) -> tuple[Measured, dict[str, Outcome]]:
        """Evaluate samples, one a task."""
        results = samples.with_name(f"{samples.stem}_eval_results.json")
        command = (
            *(self._python, "-m", "evalplus.evaluate", "--dataset", "mbpp"),
            *("--samples", samples, "--parallel", str(self._workers)),
        )
        measured = measure(command, results, self._environment, self._folder)
        outcomes = {}
        for task, (row,) in json.loads(results.read_text(encoding="utf-8"))["eval"].items():
            base, plus = row["base_status"], row["plus_status"]
            outcomes[task] = Outcome(base == "pass", base == plus == "pass", f"base {base}, plus {plus}")
        return measured, outcomes

    def _is_installed(self) -> bool:
        code = "import importlib.metadata as m, evalplus.evaluate; print(m.version('evalplus'))"
        try:
            return self._call("-c", code).split()[-1:] == [EVALPLUS]
        except (OSError, UserError):
            return False

    def _install(self) -> None:
        print(f"installing evalplus {EVALPLUS} into {self._python.parents[1]}", file=sys.stderr)
        subprocess.run((sys.executable, "-m", "venv", self._python.parents[1]), check=True, stdout=subprocess.DEVNULL)
        self._call("-m", "pip", "install", "--quiet", f"evalplus=={EVALPLUS}")

    def _call(self, *arguments: str) -> str:
        done = subprocess.run(
            (self._python, *arguments), env={**os.environ, **self._environment}, capture_output=True, text=True
        )
        if done.returncode:
            reason = " ".join(done.stderr.strip().splitlines()[-1:])
            raise UserError(f"evalplus {EVALPLUS} cannot be installed or run ({reason}): see {self._python.parents[1]}")
        return done.stdout


def unpacked_data(folder: Path) -> Path:
    """Return MBPP+ as EvalPlus reads it from a file, unpacked."""
    packed, unpacked = Path(os.environ["EVALOOOP_DATA"], DATA), folder / DATA.stem
    if not unpacked.is_file():
        if not packed.is_file():
            raise UserError(f"{packed} does not exist: put MBPP+ of EvalPlus there")
        unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
    return unpacked


# ---------------------------------------------------------------- ours


def ready_tasks() -> dict[str, Task]:
    """Return the tasks of MBPP+; a process of its own writes their file, whose memory is not the judge's."""
    path = DATASETS / "mbppplus.jsonl"
    if not path.exists():
        command = (sys.executable, "-m", "scripts.fetch_dataset", "--loader", "mbppplus", "--out", path)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return open_dataset("mbppplus")


def measure_references(tasks: Mapping[str, Task], folder: Path, workers: int) -> References:
    """Judge all references, with the limits that measuring them has given, in this process."""
    programs = [(task, task.reference) for task in tasks.values()]
    with Store(folder / "references.sqlite") as store, bar("references measured", len(tasks)) as shown:
        check_references(tasks.values(), SandboxConfig(), store, workers, shown.update)
    with tempfile.TemporaryDirectory() as fresh, Store(copied_store(folder, Path(fresh))) as store:
        started, before = time.monotonic(), own_cpu()
        with bar("references judged", len(tasks)) as shown:
            answers = judge_programs(programs, SandboxConfig(), store, workers, shown.update).results
        wall, trusted = time.monotonic() - started, own_cpu() - before
    judgements = [answer for answer in answers if isinstance(answer, Judgement)]
    return References(
        passed=sum(answer.passed for answer in judgements),
        wall=wall,
        programs_cpu=sum(answer.cpu_seconds for answer in judgements),
        trusted_cpu=trusted,
        peak_mb=own_peak_mb(),
    )


def copied_store(folder: Path, fresh: Path) -> Path:
    """Return a store that knows the measured references and no program."""
    return Path(shutil.copy(folder / "references.sqlite", fresh / "verdicts.sqlite"))


def run_ours(samples: Path, folder: Path, workers: int) -> tuple[Measured, dict[str, Outcome]]:
    """Judge samples, one a task, with the command that users call."""
    results = samples.with_name(f"{samples.stem}_verdicts.jsonl")
    with tempfile.TemporaryDirectory() as fresh:
        command = (
            *(sys.executable, "-m", "scripts.execute", "--dataset", "mbppplus", "--samples", samples),
            *("--store", copied_store(folder, Path(fresh)), "--workers", str(workers), "--out", results),
        )
        measured = measure(command, results, {}, Path.cwd())
    verdicts: dict[str, dict[str, str]] = {}
    for row in read_jsonl(results):
        verdicts.setdefault(row["task_id"], {})[row["suite"]] = row["verdict"]
    return measured, {task: our_outcome(by_suite) for task, by_suite in verdicts.items()}


def our_outcome(verdicts: Mapping[str, str]) -> Outcome:
    words = ", ".join(f"{suite} {verdict}" for suite, verdict in verdicts.items())
    return Outcome(verdicts["base"] == "pass", set(verdicts.values()) == {"pass"}, words)


def own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def own_peak_mb() -> float:
    """Return the largest resident size this process has had, in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# ---------------------------------------------------------------- who is right


def differences(
    model: str,
    theirs: Mapping[str, Outcome],
    ours: Mapping[str, Outcome],
    tasks: Mapping[str, Task],
    programs: Mapping[str, str],
) -> list[tuple[str, ...]]:
    """Return a row for each program whose verdicts differ: both, who is right, and on what evidence.

    It is judged again alone, with far more time and memory: right is who says what its values say then.
    """
    rows = []
    for task in sorted(theirs):
        if (theirs[task].base, theirs[task].both) == (ours[task].base, ours[task].both):
            continue
        suites, evidence = judged_patiently(tasks[task], programs[task])
        found = our_outcome(suites)
        right = [
            side
            for side, said in (("EvalPlus", theirs[task]), ("ours", ours[task]))
            if (said.base, said.both) == (found.base, found.both)
        ]
        rows.append((model, task, theirs[task].words, ours[task].words, right[0] if right else "neither", evidence))
    return rows


def judged_patiently(task: Task, program: str) -> tuple[dict[str, str], str]:
    """Return the verdicts by suite, and what was seen."""
    with tempfile.TemporaryDirectory() as fresh, Store(Path(fresh, "verdicts.sqlite")) as store:
        (answer,) = judge_programs([(task, program)], PATIENT, store, 1).results
    if not isinstance(answer, Judgement):
        raise UserError(f"{task.id} cannot be judged alone: {answer.detail}")
    left_out = datasets.unusable("mbppplus").get(task.id)
    failure = next((suite.detail for suite in answer.suites if suite.verdict != "pass"), "every value is right")
    times = f"{answer.cpu_seconds:.2f} CPU s, slowest test {answer.slowest_test:.2f}"
    return {suite.suite: suite.verdict for suite in answer.suites}, "; ".join(filter(None, (failure, times, left_out)))


# ---------------------------------------------------------------- tables


def reference_table(references: References) -> str:
    share = references.trusted_cpu / references.programs_cpu
    columns = ("references passed", "wall s", "programs' CPU s", "trusted side's CPU s", "share", "judge's peak MiB")
    times = (f"{value:.1f}" for value in (references.wall, references.programs_cpu, references.trusted_cpu))
    return table(columns, [(references.passed, *times, f"{share:.1%}", f"{references.peak_mb:.0f}")])


def race_rows(
    model: str, theirs: tuple[Measured, Mapping[str, Outcome]], ours: tuple[Measured, Mapping[str, Outcome]]
) -> list[tuple[object, ...]]:
    """Return a row for each side and one for how many times faster we are."""
    rows: list[tuple[object, ...]] = []
    for side, (measured, outcomes) in ((f"EvalPlus {EVALPLUS}", theirs), ("ours", ours)):
        passed = (sum(outcome.base for outcome in outcomes.values()), sum(o.both for o in outcomes.values()))
        times = (f"{measured.load:.1f}", f"{measured.wall:.1f}", f"{measured.cpu:.1f}", f"{measured.largest_mb:.0f}")
        rows.append((model, side, *times, *passed))
    wall, cpu = theirs[0].wall / ours[0].wall, theirs[0].cpu / ours[0].cpu
    return [*rows, (model, "ratio", "", f"{wall:.2f}", f"{cpu:.2f}", "", "", "")]


def differences_table(rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return "All verdicts are equal.\n"
    return table(("samples", "task", "EvalPlus", "ours", "right", "judged again alone"), rows)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.judge_vs_evalplus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--models", nargs="+", default=["o3-mini", "qwen2.5-coder-0.5b-instruct"], help="default: %(default)s"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/evalplus"), help="for environment and files (default %(default)s)"
    )
    parser.add_argument("--workers", type=int, default=0, help="programs judged side by side (default 0: one a core)")
    return parser.parse_args()


if __name__ == "__main__":
    exit_with_one_line(main)
