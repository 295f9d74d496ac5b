"""Every option and environment variable. The driver and the tools read them; others get values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Config:
    backend: str = "sim"  # TTL_BACKEND: sim | host
    target: str = "wormhole_b0"  # TTL_TARGET
    compile_only: bool = False  # TTLANG_COMPILE_ONLY=1: compile, do not run
    initial_mlir: str | None = None  # TTLANG_INITIAL_MLIR=FILE: the module before the first pass
    final_mlir: str | None = None  # TTLANG_FINAL_MLIR=FILE: the module after the last pass
    verbose_passes: bool = False  # TTLANG_VERBOSE_PASSES=1: the module around every pass, to stderr
    compiler_options: str | None = None  # TTLANG_COMPILER_OPTIONS, over those of the decorator
    seed: int | None = None  # TTL_SEED: shuffle the simulator's schedule
    float32: bool = False  # TTL_FLOAT32=1: the simulator keeps all floats in f32
    strict: bool = False  # TTL_STRICT=1: releases and waits that are left out are errors
    json: bool = False  # TTL_JSON=1: notes as JSON, one a line
    trace: str | None = None  # TTL_TRACE=FILE: run events as JSON lines
    compile_to: str | None = None  # TTL_COMPILE_TO=DIR: compile each operation into this folder
    cache_dir: Path = Path()  # PYTTL_CACHE, else the user's cache folder

    @property
    def wants_artifact(self) -> bool:
        """Is there anything that only a compilation gives?"""
        dumps = (self.initial_mlir, self.final_mlir, self.verbose_passes, self.compile_to)
        return self.backend == "host" or self.compile_only or any(dumps)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Config:
        return cls(
            backend=environment.get("TTL_BACKEND", "sim"),
            target=environment.get("TTL_TARGET", "wormhole_b0"),
            compile_only=_flag(environment, "TTLANG_COMPILE_ONLY"),
            initial_mlir=environment.get("TTLANG_INITIAL_MLIR"),
            final_mlir=environment.get("TTLANG_FINAL_MLIR"),
            verbose_passes=_flag(environment, "TTLANG_VERBOSE_PASSES"),
            compiler_options=environment.get("TTLANG_COMPILER_OPTIONS"),
            seed=int(seed) if (seed := environment.get("TTL_SEED", "")).isdigit() else None,
            float32=_flag(environment, "TTL_FLOAT32"),
            strict=_flag(environment, "TTL_STRICT"),
            json=_flag(environment, "TTL_JSON"),
            trace=environment.get("TTL_TRACE"),
            compile_to=environment.get("TTL_COMPILE_TO"),
            cache_dir=_cache_dir(environment),
        )


def _flag(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "0").lower() not in ("", "0", "false", "no", "off")


def _cache_dir(environment: Mapping[str, str]) -> Path:
    if chosen := environment.get("PYTTL_CACHE"):
        return Path(chosen)
    base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pyttl"
