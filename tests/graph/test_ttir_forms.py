"""TTIR with several results, written in place, quantized, random, or for meshes, against numpy."""

import numpy as np
import pytest

from graph.test_ttir_graphs import read
from ttgraph.d2m_graph import run_ttir
from ttgraph.flatbuffer import Runtime, compile_module
from ttl.diagnostics import CompileError

RNG = np.random.default_rng(3)


def run(body, arguments, results, *arrays):
    """A function of lines that end with the values it returns."""
    text = f"func.func @main({arguments}) -> ({results}) {{\n{body} : {results}\n}}"
    found = Runtime(compile_module(read(text))).run(list(arrays))
    return [np.asarray(each) for each in found]


def close(found, *wanted):
    for each, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.float32(each), np.float32(other), rtol=2e-2, atol=2e-2)


def uniform(*shape):
    return RNG.uniform(0.5, 2, shape).astype(np.float32)


def test_batch_norm_in_training():
    x, scale, offset, mean, variance = uniform(2, 3, 4, 4), *(uniform(3) for _ in range(4))
    body = """%r:3 = "ttir.batch_norm_training"(%x, %s, %o, %m, %v)
      <{dimension = 1 : i32, epsilon = 1.0e-5 : f32, momentum = 0.25 : f32}> :
      (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>)
    return %r#0, %r#1, %r#2"""
    given = "%x: tensor<2x3x4x4xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>"  # noqa: E501
    types = "tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>"
    found = run(body, given, types, x, scale, offset, mean, variance)
    own_mean, own_variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    rows = (x - own_mean[:, None, None]) / np.sqrt(own_variance[:, None, None] + 1e-5)
    close(
        found,
        rows * scale[:, None, None] + offset[:, None, None],
        0.75 * mean + 0.25 * own_mean,
        0.75 * variance + 0.25 * own_variance,
    )


def test_adamw():
    parameter, gradient, first, second = (uniform(4, 8) for _ in range(4))
    body = """%r:3 = "ttir.adamw"(%p, %g, %a, %b) <{lr = 0.1 : f32, beta1 = 0.9 : f32,
      beta2 = 0.99 : f32, beta1_pow = 0.81 : f32, beta2_pow = 0.98 : f32, epsilon = 1.0e-8 : f32,
      weight_decay = 0.5 : f32}> : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
      tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
    return %r#0, %r#1, %r#2"""
    given = ", ".join(f"%{name}: tensor<4x8xf32>" for name in "pgab")
    found = run(body, given, ", ".join(["tensor<4x8xf32>"] * 3), parameter, gradient, first, second)
    m, v = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
    step = 0.1 * (m / 0.19) / np.sqrt(v / 0.02)
    close(found, parameter - step - 0.05 * parameter, m, v)


def test_pool_with_places():
    x = RNG.permutation(2 * 5 * 6 * 3).reshape(2, 5, 6, 3).astype(np.float32) / 64
    body = """%r:2 = "ttir.max_pool2d_with_indices"(%x) <{kernel = array<i32: 2, 3>,
      stride = array<i32: 2, 1>, dilation = array<i32: 1, 1>, padding = array<i32: 1, 1, 0, 1>,
      ceil_mode = false}> : (tensor<2x5x6x3xf32>) -> (tensor<2x3x6x3xf32>, tensor<2x3x6x3xi32>)
    return %r#0, %r#1"""
    types = "tensor<2x3x6x3xf32>, tensor<2x3x6x3xi32>"
    values, places = run(body, "%x: tensor<2x5x6x3xf32>", types, x)
    wide = np.pad(x, ((0, 0), (1, 0), (1, 1), (0, 0)), constant_values=-np.inf)
    for y in range(3):
        for c in range(6):
            part = wide[:, 2 * y : 2 * y + 2, c : c + 3]
            np.testing.assert_array_equal(values[:, y, c], part.max((1, 2)))
    flat = x.reshape(2, 30, 3)
    taken = np.take_along_axis(flat, places.reshape(2, 18, 3).astype(int), 1)
    np.testing.assert_array_equal(taken.reshape(values.shape), values)


def test_query_key_value():
    x = uniform(2, 5, 48)
    body = """%r:3 = "ttir.split_query_key_value_and_split_heads"(%x) <{num_heads = 4 : ui32,
      num_kv_heads = 2 : ui32, transpose_key = true}> : (tensor<2x5x48xf32>)
      -> (tensor<2x4x5x6xf32>, tensor<2x2x6x5xf32>, tensor<2x2x5x6xf32>)
    return %r#0, %r#1, %r#2"""
    types = "tensor<2x4x5x6xf32>, tensor<2x2x6x5xf32>, tensor<2x2x5x6xf32>"
    found = run(body, "%x: tensor<2x5x48xf32>", types, x)
    heads = x.reshape(2, 5, 8, 6).transpose(0, 2, 1, 3)
    close(found, heads[:, :4], heads[:, 4:6].swapaxes(-1, -2), heads[:, 6:])


def caches(name, attributes, cache, *inputs):
    """The cache before and after what is written in place."""
    arrays = [cache, *inputs]
    element = {"f": "f32", "i": "i32"}
    types = [f"tensor<{'x'.join(map(str, a.shape))}x{element[a.dtype.kind]}>" for a in arrays]
    names = [f"%a{n}" for n in range(len(arrays))]
    given = ", ".join(f"{each}: {type}" for each, type in zip(names, types, strict=True))
    body = f"""%b = "ttir.abs"(%a0) : ({types[0]}) -> {types[0]}
      "ttir.{name}"({", ".join(names)}) <{{{attributes}}}> : ({", ".join(types)}) -> ()
    return %b, %a0"""
    before, after = run(body, given, f"{types[0]}, {types[0]}", *arrays)
    np.testing.assert_array_equal(before, np.abs(cache))
    return after


def test_caches_are_written_in_place():
    cache = uniform(3, 2, 8, 4)
    wanted, rows = cache.copy(), uniform(1, 2, 2, 4)
    wanted[1:3, :, 5] = rows[0].swapaxes(0, 1)
    found = caches("update_cache", "batch_offset = 1 : i32", cache, rows, np.int32([5]))
    np.testing.assert_array_equal(found, wanted)
    wanted, rows = cache.copy(), uniform(1, 2, 3, 4)
    wanted[2:, :, :3] = rows
    found = caches("fill_cache", "batch_offset = 2 : i32", cache, rows)
    np.testing.assert_array_equal(found, wanted)


def test_caches_in_blocks():
    cache, table = uniform(6, 2, 4, 8), np.int32([[5, 0, 2], [1, 3, 4]])
    wanted, rows = cache.copy(), uniform(1, 2, 2, 8)
    wanted[2, :, 1], wanted[1, :, 3] = rows[0]
    parts = "operandSegmentSizes = array<i32: 1, 1, 1, 1>"
    found = caches("paged_update_cache", parts, cache, rows, np.int32([9, 3]), table)
    np.testing.assert_array_equal(found, wanted)
    wanted, rows = cache.copy(), uniform(1, 2, 6, 8)
    wanted[1], wanted[3, :, :2] = rows[0][:, :4], rows[0][:, 4:]
    found = caches("paged_fill_cache", parts, cache, rows, table, np.int32([1]))
    np.testing.assert_array_equal(found, wanted)


def test_what_is_written_for_nobody_is_refused():
    text = """func.func @main(%c: tensor<1x2x8x4xf32>, %x: tensor<1x2x3x4xf32>) {
      "ttir.fill_cache"(%c, %x) <{batch_offset = 0 : i32}> : (tensor<1x2x8x4xf32>, tensor<1x2x3x4xf32>) -> ()
      return }"""  # noqa: E501
    with pytest.raises(CompileError, match="writes in place what nothing after it reads"):
        compile_module(read(text))


STEPS = "tensor<2x3x!quant.uniform<i8:f32:1, {0.1:3, 0.2, 0.5:-4}>>"
COARSE = "tensor<2x3x!quant.uniform<i32:f32, 0.25>>"


def test_quantized():
    x = np.float32([[1.04, -3.3, 0.8], [90, 7, -2.26]])
    body = f"""%q = "ttir.quantize"(%x) : (tensor<2x3xf32>) -> {STEPS}
    %t = "ttir.transpose"(%q) <{{dim0 = 0 : si32, dim1 = 1 : si32}}> : ({STEPS}) -> tensor<3x2x!quant.uniform<i8:f32:0, {{0.1:3, 0.2, 0.5:-4}}>>
    %d = "ttir.dequantize"(%q) : ({STEPS}) -> tensor<2x3xf32>
    %r = "ttir.requantize"(%q) : ({STEPS}) -> {COARSE}
    return %q, %t, %d, %r"""  # noqa: E501
    turned = STEPS.replace("2x3", "3x2").replace(":1", ":0")
    types = f"{STEPS}, {turned}, tensor<2x3xf32>, {COARSE}"
    scale, zero = np.float32([0.1, 0.2, 0.5]), np.float32([3, 0, -4])
    steps = np.clip(np.round(x / scale) + zero, -128, 127)
    back = (steps - zero) * scale
    close(run(body, "%x: tensor<2x3xf32>", types, x), steps, steps.T, back, np.round(back / 0.25))


def test_other_math_of_quantized_numbers_is_named():
    text = f"""func.func @main(%x: {COARSE}) -> {COARSE} {{
      %0 = "ttir.add"(%x, %x) : ({COARSE}, {COARSE}) -> {COARSE}
      return %0 : {COARSE} }}"""
    with pytest.raises(CompileError, match=r"`ttir.add` .* calculates with quantized numbers"):
        compile_module(read(text))


def test_random_numbers_are_those_of_the_seed():
    def numbers(seed):
        body = f"""%r = "ttir.rand"() <{{size = [64 : i32, 64 : i32], low = 2.0 : f32,
          high = 4.0 : f32, seed = {seed} : ui32}}> : () -> tensor<64x64xf32>
        %d = "ttir.dropout"(%r) <{{prob = 0.25 : f32, scale = 2.0 : f32, seed = {seed + 1} : ui32}}>
          : (tensor<64x64xf32>) -> tensor<64x64xf32>
        return %r, %d"""
        return run(body, "", "tensor<64x64xf32>, tensor<64x64xf32>")

    (found, dropped), (again, _), (other, _) = numbers(70000), numbers(70000), numbers(1)
    assert (found == again).all() and (found != other).mean() > 0.99
    assert found.min() >= 2 and found.max() < 4 and abs(found.mean() - 3) < 0.05
    kept = dropped != 0
    assert abs(kept.mean() - 0.75) < 0.05
    np.testing.assert_array_equal(dropped[kept], 2 * found[kept])


# Programs for several devices: each has its part of %x, which mesh_shard divides and puts together.

SHARD = """<{{shard_type = #ttcore.shard_type<devices>, shard_shape = array<i64: {shape}>,
  shard_dims = array<i64: {dims}>, shard_direction = #ttcore.shard_direction<{direction}>}}>"""


def on_devices(call, attributes, local, result, x, whole, dims="-1, 1"):
    """A collective of the columns (or rows and columns) of x, doubled on each device before it."""

    def type_of(shape):
        return f"tensor<{'x'.join(map(str, shape))}xf32>"

    ones = ", ".join("1" for _ in x.shape)
    down = SHARD.format(shape=ones, dims=dims, direction="full_to_shard")
    up = SHARD.format(shape=ones, dims=dims, direction="shard_to_full")
    given, part, made, full = map(type_of, (x.shape, local, result, whole))
    body = f"""%p = "ttir.mesh_shard"(%x) {down} : ({given}) -> {part}
    %d = "ttir.add"(%p, %p) : ({part}, {part}) -> {part}
    %c = "ttir.{call}"(%d) <{{{attributes}}}> : ({part}) -> {made}
    %r = "ttir.mesh_shard"(%c) {up} : ({made}) -> {full}
    return %r"""
    (found,) = run(body, f"%x: {given}", full, x)
    return found


def test_collectives():
    x = uniform(4, 8)
    parts = [2 * x[:, :4], 2 * x[:, 4:]]
    both = parts[0] + parts[1]
    axis = "cluster_axis = 1 : ui32"
    total = "reduce_type = #ttcore.reduce_type<sum>"
    groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
    pairs = "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>"
    split = "split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 2 : si32"
    gathered = np.concatenate(parts, 0)
    for call, attributes, result, wanted in (
        ("all_gather", f"all_gather_dim = 0 : si32, {axis}", (8, 4), [gathered, gathered]),
        ("all_reduce", f"{total}, {axis}", (4, 4), [both, both]),
        (
            "reduce_scatter",
            f"{total}, scatter_dim = 0 : si32, {axis}",
            (2, 4),
            [both[:2], both[2:]],
        ),
        ("collective_broadcast", groups, (4, 4), [parts[0], parts[0]]),
        ("collective_permute", pairs, (4, 4), [np.zeros((4, 4)), parts[0]]),
        ("mesh_partition", f"dim = 0 : si32, {axis}", (2, 4), [parts[0][:2], parts[1][2:]]),
        (
            "all_to_all",
            f"{split}, {groups}",
            (2, 8),
            [np.concatenate([p[:2] for p in parts], 1), np.concatenate([p[2:] for p in parts], 1)],
        ),
    ):
        whole = np.concatenate(wanted, 1)
        found = on_devices(call, attributes, (4, 4), result, x, whole.shape)
        np.testing.assert_allclose(found, whole, rtol=1e-2, err_msg=call)


def test_collectives_of_rows_and_columns_of_devices():
    x = uniform(4, 6)
    attributes = "reduce_type = #ttcore.reduce_type<max>, cluster_axis = 0 : ui32"
    found = on_devices("all_reduce", attributes, (2, 2), (2, 2), x, (4, 6), dims="0, 1")
    np.testing.assert_allclose(found, np.tile(2 * np.maximum(x[:2], x[2:]), (2, 1)), rtol=1e-2)


def test_collectives_on_a_mesh_of_one_dimension():
    x = uniform(4, 8)
    attributes = "all_gather_dim = 0 : si32, cluster_axis = 0 : ui32"
    found = on_devices("all_gather", attributes, (4, 4), (8, 4), x, (8, 8), dims="1")
    np.testing.assert_allclose(found, np.tile(2 * np.vstack([x[:, :4], x[:, 4:]]), 2), rtol=1e-2)


def test_a_split_into_nothing_is_named():
    text = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = "ttir.all_to_all"(%x) <{split_dim = 0 : si32, concat_dim = 1 : si32, split_count = 0 : si32, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32> }"""  # noqa: E501
    with pytest.raises(CompileError, match=r"`ttir.all_to_all` .* do not fit"):
        compile_module(read(text))


def test_the_host_has_whole_numbers_beside_threads():
    text = """func.func @main(%x: tensor<4x8xf32>) -> tensor<1xi32> {
      %0 = "ttir.get_dimension_size"(%x) <{dimension = 1 : i32}> : (tensor<4x8xf32>) -> tensor<1xi32>
      return %0 : tensor<1xi32> }"""  # noqa: E501
    (found,) = run_ttir(read(text), [uniform(4, 8)])
    assert found.tolist() == [8]


def test_parts_that_are_returned_are_named():
    text = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
      %0 = "ttir.mesh_partition"(%x) <{dim = 1 : si32, cluster_axis = 1 : ui32}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
      return %0 : tensor<4x4xf32> }"""  # noqa: E501
    with pytest.raises(CompileError, match="parts of devices are returned"):
        compile_module(read(text))
