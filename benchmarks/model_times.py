"""Measures models of a real size against eager torch: a part of benchmarks.models.

Uses one CPU thread, random weights, and configurations built here: downloads nothing. Each model
has its own process; calls of both alternate, so that other processes slow down both. Figures are
medians, with the first and last quartile in brackets.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time
from typing import Any

THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
ROUNDS = 5  # number of compilations
Made = tuple[Any, dict[str, Any]]  # a model and its arguments


def llama(layers: int, hidden: int, heads: int, vocabulary: int, tokens: int, dtype: str) -> Made:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=hidden,
        intermediate_size=hidden * 10 // 3,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        vocab_size=vocabulary,
    )
    model = LlamaForCausalLM(config).to(getattr(torch, dtype))
    return model, {"input_ids": torch.randint(0, vocabulary, (1, tokens)), "use_cache": False}


def gpt2(tokens: int) -> Made:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config()
    ids = torch.randint(0, config.vocab_size, (1, tokens))
    return GPT2LMHeadModel(config), {"input_ids": ids, "use_cache": False}


def resnet18(size: int) -> Made:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic", num_labels=1000
    )
    return ResNetForImageClassification(config), {"pixel_values": torch.randn(1, 3, size, size)}


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    make: Callable[[], Made]
    aim: float  # multiple of eager's time


def small_llama() -> Made:
    return llama(2, 64, 4, 128, 32, "float32")


ROWS = {
    "llama2": Row("Llama, 2 layers, 32 tokens, f32", small_llama, 5),
    "gpt2": Row("GPT-2 small, 64 tokens", lambda: gpt2(64), 2.5),
    "llama62": Row(
        "Llama 62 M, 128 tokens, bf16", lambda: llama(8, 512, 8, 32000, 128, "bfloat16"), 1.5
    ),
    "resnet18": Row("ResNet-18, 64 x 64", lambda: resnet18(64), 4),
}
COMPILE_AIM = 1.5  # seconds
# Parts of compiling the first row. torch's own backend does nothing: its time is dynamo's.
COMPILE, DYNAMO = "compile", "dynamo"


# One model's process ------------------------------------------------------------------------------


def calls(row: Row, seconds: float) -> dict[str, Any]:
    """Return the milliseconds of alternating eager and compiled calls, and their results' error."""
    import torch

    model, arguments = _made(row.make)
    compiled = torch.compile(model, backend="tt")
    with torch.no_grad():
        wanted, found = model(**arguments).logits, compiled(**arguments).logits
        times: dict[str, list[float]] = {"eager": [], "ours": []}
        end = perf_counter() + seconds
        while len(times["ours"]) < 5 or perf_counter() < end:
            times["eager"].append(_milliseconds(lambda: model(**arguments)))
            times["ours"].append(_milliseconds(lambda: compiled(**arguments)))
    apart = (wanted - found).abs().max() / wanted.abs().max()
    return {**times, "apart": float(apart)}


def compilations(backend: str) -> dict[str, list[float]]:
    """Return the CPU seconds of the first call, and of our part: from the traced graph to a program
    that runs.

    The first of each list is for a process that has compiled nothing yet, so each of the two
    backends has its own process.
    """
    import torch

    from tt_torch import capture, executable

    own: list[float] = []
    make = executable.Executable

    def timed(graph: Any) -> Any:
        start = process_time()
        made = make(graph)
        own[-1] += process_time() - start
        return made

    setattr(capture, "Executable", timed)  # noqa: B010  (what it calls, which it does not export)
    model, arguments = _made(small_llama)
    times = []
    with torch.no_grad():
        model(**arguments)
        for _ in range(ROUNDS):
            torch._dynamo.reset()
            executable._RUNTIMES.clear()
            own.append(0.0)
            compiled = torch.compile(model, backend=backend)
            times.append(_cpu_seconds(partial(compiled, **arguments)))
    return {"whole": times, "own": own}


def _made(make: Callable[[], Made]) -> Made:
    import torch

    import tt_torch  # noqa: F401

    from .model_zoo import prepare_torchvision

    prepare_torchvision()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, arguments = make()
    return model.eval(), arguments


def _cpu_seconds(call: Callable[[], Any]) -> float:
    """Return the CPU seconds on one thread, without waiting for other processes."""
    start = process_time()
    call()
    return process_time() - start


def _milliseconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return 1000 * (perf_counter() - start)


# The table ----------------------------------------------------------------------------------------


def figures(name: str, seconds: float) -> Any:
    command = [sys.executable, "-P", "-m", "benchmarks.model_times", name, str(seconds)]
    environment = {**os.environ, **THREADS}
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), environment.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def shown(times: list[float]) -> str:
    low, middle, high = statistics.quantiles(times, n=4)
    return f"{middle:8.1f} [{low:7.1f} {high:7.1f}]"


def model_line(row: Row, found: dict[str, Any]) -> tuple[str, bool]:
    ratio = statistics.median(found["ours"]) / statistics.median(found["eager"])
    text = f"{row.title:32} {shown(found['eager'])} {shown(found['ours'])}"
    verdict = "" if ratio <= row.aim else "  (over)"
    return f"{text} {ratio:8.2f} {row.aim:6g}  {found['apart']:.0e}{verdict}", ratio <= row.aim


def compile_lines(seconds: float) -> tuple[str, bool]:
    """Return the total time, and the parts of dynamo, torch's tracing and us."""
    found, dynamo = figures(COMPILE, seconds), figures(DYNAMO, seconds)["whole"]
    whole, own = found["whole"], found["own"]
    again = statistics.median(whole[1:])
    rest = [a - b - c for a, b, c in zip(whole, dynamo, own, strict=True)]
    parts = {"dynamo": dynamo, "torch's tracing": rest, "ours": own}
    fits = again <= COMPILE_AIM
    aim = f"; aim {COMPILE_AIM}{'' if fits else '  (over)'}"
    return "\n".join(
        [
            _seconds("compile of the first, s of CPU", whole) + aim,
            *(_seconds(f"  of which {name}", taken) for name, taken in parts.items()),
        ]
    ), fits


def _seconds(title: str, taken: list[float]) -> str:
    again = statistics.median(taken[1:])
    return f"{title:32} {again:8.2f}   {taken[0]:.2f} as the first of a process"


def table(seconds: float) -> int:
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    print(f"{'':32} {'eager ms':>26} {'tt ms':>26} {'ratio':>8} {'aim':>6}  apart", flush=True)
    good = True
    for name, row in ROWS.items():
        text, fits = model_line(row, figures(name, seconds))
        print(text, flush=True)
        good = good and fits
    text, fits = compile_lines(seconds)
    print(text, flush=True)
    return 0 if good and fits else 1


def child(name: str, seconds: float) -> Any:
    backends = {COMPILE: "tt", DYNAMO: "eager"}
    return compilations(backends[name]) if name in backends else calls(ROWS[name], seconds)


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], float(sys.argv[2]))))
