"""Models of Hugging Face transformers, compiled for `tt`, side by side with eager torch.

python -m benchmarks.models_speed [NAME ...] [--device tt] [--seconds 6]

On one thread of the CPU, random weights, configurations built here: nothing is downloaded. Each
model has a process of its own; calls of both take turns, so what another process takes away it
takes from both. Figures are medians, and in brackets from the first to the last quarter.
"""

from __future__ import annotations

import argparse
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
ROUNDS = 5  # of compilations
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
    aim: float  # times eager


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
COMPILE = {"compile": "tt", "dynamo": "eager"}  # by the backend: torch's own does nothing
COMPILE_AIM = 1.5  # seconds


# In the process of one model ----------------------------------------------------------------------


def calls(row: Row, device: str, seconds: float) -> dict[str, Any]:
    """Milliseconds of calls, eager and compiled in turns, and how far their results are apart."""
    import torch

    model, arguments = _made(row.make)
    placed = {name: _placed(value, device) for name, value in arguments.items()}
    compiled = torch.compile(model if device == "cpu" else _copy(model, device), backend="tt")
    with torch.no_grad():
        wanted, found = model(**arguments).logits, compiled(**placed).logits.cpu()
        times: dict[str, list[float]] = {"eager": [], "ours": []}
        end = perf_counter() + seconds
        while len(times["ours"]) < 5 or perf_counter() < end:
            times["eager"].append(_milliseconds(lambda: model(**arguments)))
            times["ours"].append(_milliseconds(lambda: compiled(**placed)))
    apart = (wanted - found).abs().max() / wanted.abs().max()
    return {**times, "apart": float(apart)}


def compilations(backend: str) -> list[float]:
    """CPU seconds of the first call, and of what torch itself takes for it: dynamo alone.

    The first of each list is that of a process that has compiled nothing yet, so each of the two
    has a process of its own.
    """
    import torch

    from tt_torch import executable

    model, arguments = _made(small_llama)
    times = []
    with torch.no_grad():
        model(**arguments)
        for _ in range(ROUNDS):
            torch._dynamo.reset()
            executable._RUNTIMES.clear()
            compiled = torch.compile(model, backend=backend)
            times.append(_cpu_seconds(partial(compiled, **arguments)))
    return times


def _made(make: Callable[[], Made]) -> Made:
    import torch

    import tt_torch  # noqa: F401

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, arguments = make()
    return model.eval(), arguments


def _placed(value: Any, device: str) -> Any:
    return value.to(device) if hasattr(value, "to") else value


def _copy(model: Any, device: str) -> Any:
    import copy

    return copy.deepcopy(model).to(device)


def _cpu_seconds(call: Callable[[], Any]) -> float:
    """On one thread; waiting for other processes does not count."""
    start = process_time()
    call()
    return process_time() - start


def _milliseconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return 1000 * (perf_counter() - start)


# The table ----------------------------------------------------------------------------------------


def figures(name: str, device: str, seconds: float) -> Any:
    command = [sys.executable, "-P", "-m", "benchmarks.models_speed", name, "--child"]
    options = ["--device", device, "--seconds", str(seconds)]
    environment = {**os.environ, **THREADS}
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, *options], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def shown(times: list[float]) -> str:
    low, middle, high = statistics.quantiles(times, n=4)
    return f"{middle:8.1f} [{low:7.1f} {high:7.1f}]"


def model_line(row: Row, found: dict[str, Any]) -> tuple[str, bool]:
    ratio = statistics.median(found["ours"]) / statistics.median(found["eager"])
    text = f"{row.title:32} {shown(found['eager'])} {shown(found['ours'])}"
    verdict = "" if ratio <= row.aim else "  (over)"
    return f"{text} {ratio:8.2f} {row.aim:6g}  {found['apart']:.0e}{verdict}", ratio <= row.aim


def compile_line(name: str, times: list[float]) -> tuple[str, bool]:
    again = statistics.median(times[1:])
    fits = again <= COMPILE_AIM or name != "compile"
    title = {"compile": "compile of the first, s of CPU", "dynamo": "  of which dynamo"}[name]
    text = f"{title:32} {again:8.2f}   {times[0]:.2f} as the first of a process"
    aim = f"; aim {COMPILE_AIM}" if name == "compile" else ""
    return f"{text}{aim}{'' if fits else '  (over)'}", fits


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models_speed")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*ROWS, *COMPILE]))
    parser.add_argument("--device", default="cpu", choices=["cpu", "tt"])
    parser.add_argument("--seconds", type=float, default=6.0, help="of calls of each model")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.names) - {*ROWS, *COMPILE}:
        parser.error(f"there is no model {', '.join(sorted(unknown))}")
    if options.child:
        (name,) = options.names
        print(json.dumps(child(name, options.device, options.seconds)))
        return 0
    return table(options.names or [*ROWS, *COMPILE], options.device, options.seconds)


def child(name: str, device: str, seconds: float) -> Any:
    return compilations(COMPILE[name]) if name in COMPILE else calls(ROWS[name], device, seconds)


def table(names: list[str], device: str, seconds: float) -> int:
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    print(f"{'':32} {'eager ms':>26} {'tt ms':>26} {'ratio':>8} {'aim':>6}  apart")
    good = True
    for name in names:
        found = figures(name, device, seconds)
        is_model = name in ROWS
        text, fits = model_line(ROWS[name], found) if is_model else compile_line(name, found)
        print(text, flush=True)
        good = good and fits
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
