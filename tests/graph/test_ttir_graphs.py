"""TTIR as tt-mlir writes it, in both forms, through the ttnn runtime and through ttir-to-d2m."""

import numpy as np
import pytest

from graph.ttir_graphs import GRAPHS, text_of
from ttgraph.d2m_graph import run_ttir
from ttgraph.dialects import make_context
from ttgraph.flatbuffer import Runtime, compile_module
from ttl.dialects import print_module
from ttl.dialects.reading import parse_module

# The buffer of a result comes after the operands: with optional ones it needs their sizes.
WITH_BUFFER = [each for each in GRAPHS if each.inputs and "SegmentSizes" not in each.attributes]
SOME = 12  # compiled together


def in_parts(graphs):
    return [graphs[n : n + SOME] for n in range(0, len(graphs), SOME)]


def read(text):
    module = parse_module(text, "graph.mlir", make_context())
    module.verify()
    return module


def test_there_are_200_graphs():
    assert len(GRAPHS) + len(WITH_BUFFER) >= 200


def compare(graphs, arrays, results):
    for graph, given, found in zip(graphs, arrays, results, strict=True):
        wanted = np.asarray(graph.meaning(*given), np.float32)
        found = np.float32(np.asarray(found)).reshape(wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=2e-2, atol=2e-2, err_msg=graph.name)


PARTS = [(part, False) for part in in_parts(GRAPHS)]
PARTS += [(part, True) for part in in_parts(WITH_BUFFER)]


@pytest.mark.parametrize(("graphs", "with_buffer"), PARTS)
def test_runs_as_numpy_says(graphs, with_buffer):
    rng = np.random.default_rng(7)
    arrays = [graph.arrays(rng) for graph in graphs]
    module = read(text_of(graphs, with_buffer=with_buffer))
    assert print_module(read(print_module(module))) == print_module(module)
    results = Runtime(compile_module(module)).run([each for given in arrays for each in given])
    compare(graphs, arrays, results)


TILES = (
    "add",
    "exp",
    "softmax",
    "layer_norm",
    "linear",
    "relu",
    "mean",
    "matmul",
    "clamp_scalar",
    "group_norm",
    "gelu_bw",
    "dequantize_unrolled",
)


@pytest.mark.full
@pytest.mark.parametrize("graph", [g for g in GRAPHS if g.call in TILES], ids=lambda g: g.name)
def test_becomes_threads(graph):
    given = graph.arrays(np.random.default_rng(8))
    compare([graph], [given], run_ttir(read(text_of([graph], with_buffer=False)), given))
