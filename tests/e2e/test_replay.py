"""`ttl replay`, the folders it takes, and `--counts`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = EXAMPLES / "elementwise.py"
WITHOUT_COMPILER = """
import sys
for name in ("xdsl", "ttl.frontend", "ttl.passes", "ttl.codegen", "ttl.dialects"):
    sys.modules[name] = None
from ttl.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def bundle(run: Any, tmp_path: Path) -> Path:
    done = run("ttl", "run", EXAMPLE, TTLANG_KERNEL_DUMPS="1")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "ttlang_kernel_dumps").iterdir()
    return folder


def test_the_same_operation_has_the_same_bundle(run: Any, bundle: Path, tmp_path: Path) -> None:
    assert bundle.name.startswith("program_")
    assert {path.name for path in (bundle / "kernels").iterdir()} == {
        "compute.cpp",
        "read.cpp",
        "write.cpp",
    }
    again = run("ttl", "run", "--host", EXAMPLE, TTLANG_KERNEL_DUMPS=str(tmp_path / "there"))
    assert again.returncode == 0, again.stderr
    assert [path.name for path in (tmp_path / "there").iterdir()] == [bundle.name]


def test_nothing_is_written_unless_asked(run: Any, tmp_path: Path) -> None:
    assert run("ttl", "run", "--host", EXAMPLE, TTLANG_KERNEL_DUMPS="0").returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_replay_runs_without_the_frontend(bundle: Path, tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    arrays = {name: generator.uniform(-1, 1, (256, 256)).astype(np.float32) for name in "abc"}
    np.savez(tmp_path / "in.npz", **arrays)
    command = [sys.executable, "-c", WITHOUT_COMPILER, "replay", str(bundle)]
    files = ["--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz")]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with np.load(tmp_path / "out.npz") as written:
        assert set(written.files) == {"a", "b", "c", "y"}
        expected = arrays["a"] * arrays["b"] + np.exp(arrays["c"])
        np.testing.assert_allclose(written["y"], expected, rtol=0.03, atol=0.03)


def test_a_program_of_kernels_written_by_hand(run: Any, tmp_path: Path) -> None:
    page = EXAMPLES.parent / "docs" / "howto" / "hand-written-kernels.md"
    program = re.split(r"```(?:python)?\n", page.read_text())[1]
    (tmp_path / "program.py").write_text(program)
    done = run("ttl", "compile", "--compile-only", tmp_path / "program.py", "-o", "folder")
    assert (done.returncode, done.stdout) == (0, "0 0\n"), done.stderr
    x = np.linspace(-8, 8, 1024, dtype=np.float32).reshape(32, 32)
    np.savez(tmp_path / "in.npz", tensor_0=x)
    files = ("--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    done = run("ttl", "replay", tmp_path / "folder", *files)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with np.load(tmp_path / "out.npz") as written:
        np.testing.assert_array_equal(written["tensor_1"], np.maximum(written["tensor_0"], 0))
    refused = run("ttl", "replay", tmp_path / "folder", "--counts")
    assert "written by hand are not counted" in refused.stderr


def test_random_inputs_depend_on_the_seed(run: Any, bundle: Path) -> None:
    first, again, other = (
        run("ttl", "replay", bundle, "--seed", seed).stdout for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert first.startswith("a (256, 256) bfloat16:\n[[")


def test_an_edited_kernel_is_the_one_that_runs(run: Any, bundle: Path) -> None:
    kernel = bundle / "kernels" / "compute.cpp"
    text = kernel.read_text()
    kernel.write_text(
        text.replace("kernel_main() {", 'kernel_main() {\n  DPRINT_MATH("edited\\n");').replace(
            "#include <cstdint>", '#include <cstdint>\n#include "api/debug/dprint.h"'
        )
    )
    done = run("ttl", "replay", bundle)
    assert done.returncode == 0, done.stderr
    assert "(0, 0) compute: edited\n" in done.stdout


def test_an_isolated_kernel_that_crashes(run: Any, bundle: Path) -> None:
    isolated = ("ttl", "replay", bundle, "--isolate", "-W", "ignore=TTL6016")
    done, plain = run(*isolated), run("ttl", "replay", bundle)
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
    kernel = bundle / "kernels" / "compute.cpp"
    kernel.write_text(kernel.read_text().replace("kernel_main() {", "kernel_main() {\n  abort();"))
    kernel.write_text('extern "C" void abort();\n' + kernel.read_text())
    done = run(*isolated)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("error[TTL5003]: the kernels of `multiply_add_exp` broke the ")
    assert "SIGABRT" in done.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "include",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '  #  include "../../secret.h"',
        '#inc\\\nlude "/etc/passwd"',
        '/* a */ #include "/etc/passwd"',
        '%:include "/etc/passwd"',
        '#define FILE "/etc/passwd"\n#include FILE',
        '#include "C:\\\\secret.h"',
        '#include_next "/etc/passwd"',
        '/*\n#include "/etc/passwd"\n*/',
        '# /* */ /*\n*/ include "/etc/passwd"',
        '#include /*\n*/ "/etc/passwd"',
        """char c = '"'; const char* s = "/*";\n/**/ #include "/etc/passwd"\n// */""",
    ],
)
def test_includes_that_are_refused(run: Any, bundle: Path, include: str) -> None:
    kernel = bundle / "kernels" / "read.cpp"
    kernel.write_text(f"{include}\n{kernel.read_text()}")
    done = run("ttl", "replay", bundle)
    assert done.returncode == 1 and done.stdout == ""
    assert "error[TTL6006]: kernel `read` includes" in done.stderr
    assert "root:" not in done.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        '__asm__(".incbin \\"/etc/passwd\\"");',
        'asm(".inc" "bin \\"/etc/passwd\\"");',
        '#pragma GCC dependency "/etc/passwd"',
        '_Pragma("GCC dependency \\"/etc/passwd\\"")',
        '#if __has_include("/etc/passwd")\n#endif',
    ],
)
def test_other_ways_to_files_are_refused(run: Any, bundle: Path, text: str) -> None:
    kernel = bundle / "kernels" / "read.cpp"
    kernel.write_text(f"{text}\n{kernel.read_text()}")
    done = run("ttl", "replay", bundle)
    assert done.returncode == 1
    assert "error[TTL6006]: kernel `read` has `" in done.stderr


def test_a_header_of_the_current_folder_is_not_found(
    run: Any, bundle: Path, tmp_path: Path
) -> None:
    kernel = bundle / "kernels" / "read.cpp"
    kernel.write_text(f'#include "mine.h"\n{kernel.read_text()}')
    (tmp_path / "mine.h").write_text("#error it was found")
    done = run("ttl", "replay", bundle, cwd=tmp_path)
    assert done.returncode == 1
    assert "mine.h" in done.stderr
    assert "it was found" not in done.stderr


def test_headers_may_be_included_with_comments(run: Any, bundle: Path) -> None:
    kernel = bundle / "kernels" / "read.cpp"
    kernel.write_text(f"#include <cstdint> // a\n#include <cstddef>  /* b */\n{kernel.read_text()}")
    assert run("ttl", "replay", bundle).returncode == 0


WRONG_MANIFESTS: dict[str, Any] = {
    "name that leads out": lambda m: m["pyttl"]["kernels"][0].update(name="../../compute"),
    "unknown chip": lambda m: m["pyttl"].update(target="grayskull"),
    "unknown type": lambda m: m["operand_metadata"].update(dtypes=["f8"] * 4),
    "unknown layout": lambda m: m["operand_metadata"].update(layouts=["COLUMNS"] * 4),
    "unknown format": lambda m: m["cb_configs"][0].update(data_format="Tf32"),
    "no kernels": lambda m: m.pop("kernels"),
    "a tensor without end": lambda m: m["operand_metadata"].update(shapes=[[2**31] * 2] * 4),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", WRONG_MANIFESTS)
def test_wrong_manifests(run: Any, bundle: Path, name: str) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    WRONG_MANIFESTS[name](manifest)
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    done = run("ttl", "replay", bundle)
    assert done.returncode == 1
    assert done.stderr.startswith("error[TTL6004]: ") and "Traceback" not in done.stderr


def test_wrong_inputs(run: Any, bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("nothing")
    np.savez(tmp_path / "unknown.npz", z=np.zeros(3))
    np.savez(tmp_path / "shape.npz", a=np.zeros((3, 3)))
    np.savez_compressed(tmp_path / "damaged.npz", a=np.arange(999))
    damaged = bytearray((tmp_path / "damaged.npz").read_bytes())
    damaged[99:199] = bytes(100)
    (tmp_path / "damaged.npz").write_bytes(damaged)
    cases = {
        "text.npz": "no archive of arrays",
        "damaged.npz": "no archive of arrays",
        "unknown.npz": "the operation has no tensor `z`",
        "shape.npz": "`a` has shape (3, 3), not (256, 256)",
        "missing.npz": "No such file",
    }
    for file, message in cases.items():
        done = run("ttl", "replay", bundle, "--inputs", file)
        assert done.returncode == 1 and message in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_help_says_that_it_compiles_and_runs(run: Any) -> None:
    text = " ".join(run("ttl", "replay", "--help").stdout.split())
    assert "compiled and run with your rights" in text


def test_counts_of_the_command_line(run: Any, bundle: Path) -> None:
    done = run("ttl", "run", "--host", "--counts", EXAMPLE)
    assert done.returncode == 0, done.stderr
    *_, head, calls, pages, note = done.stdout.splitlines()
    assert note == "multiply_add_exp: 16-bit DST, half sync, math fidelity HiFi4"
    assert head.split()[0] == "operation" and calls.split()[0] == "multiply_add_exp"
    assert pages.split()[:3] == ["per", "result", "page"]
    replayed = run("ttl", "replay", bundle, "--counts", "--outputs", "o.npz").stdout.splitlines()
    in_all = [int(word) for word in calls.split()[1:]]
    assert [4 * int(word) for word in replayed[1].split()[1:]] == in_all  # it is called 4 times
    assert run("ttl", "run", "--counts", EXAMPLE).returncode == 2


SHARDED = """
import numpy as np
import ttl
import ttnn

device = ttnn.open_device(device_id=0)
cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 0))])
shards = ttnn.MemoryConfig(
    ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.BufferType.L1,
    ttnn.ShardSpec(cores, (8, 16), ttnn.ShardOrientation.ROW_MAJOR),
)


@ttl.operation(grid=(1, 1))
def moved(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(2, 24))

    @ttl.datamovement()
    def read():
        with dfb.reserve() as blk:
            ttl.copy(x[2:4, 8:32], blk).wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as blk:
            ttl.copy(blk, y[0:2, 40:64]).wait()


values = np.arange(8 * 64, dtype=np.float32).reshape(8, 64)
x, y = (
    ttl.from_numpy(array, dtype=ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT, device=device,
                    memory_config=config)
    for array, config in ((values, shards), (values * 0, ttnn.L1_MEMORY_CONFIG))
)
moved(x, y)
np.save("expected.npy", ttl.to_numpy(y))
"""


def test_replay_places_tensors_as_they_were(run: Any, tmp_path: Path) -> None:
    """The pages of a sharded row-major tensor are compiled into the kernels."""
    (tmp_path / "sharded.py").write_text(SHARDED)
    done = run("ttl", "run", "--host", "sharded.py", TTLANG_KERNEL_DUMPS="1")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "ttlang_kernel_dumps").iterdir()
    values = np.arange(8 * 64, dtype=np.float32).reshape(8, 64)
    np.savez(tmp_path / "in.npz", x=values, y=values * 0)
    given, written = tmp_path / "in.npz", tmp_path / "out.npz"
    done = run("ttl", "replay", folder, "--inputs", given, "--outputs", written)
    assert done.returncode == 0, done.stderr
    expected = np.load(tmp_path / "expected.npy")
    assert (expected[0:2, 40:64] == values[2:4, 8:32]).all()
    with np.load(written) as arrays:
        np.testing.assert_array_equal(arrays["y"], expected)
    first, second = json.loads((folder / "manifest.json").read_text())["pyttl"]["memory_configs"]
    assert (first["memory_layout"], first["shard_shape"]) == ("WIDTH_SHARDED", [8, 16])
    assert (second["buffer_type"], second["cores"]) == ("L1", [])
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("WIDTH_SHARDED", "WIDE"))
    done = run("ttl", "replay", folder)
    assert done.returncode == 1 and "there is no 'WIDE' where tensor `x` lies" in done.stderr
