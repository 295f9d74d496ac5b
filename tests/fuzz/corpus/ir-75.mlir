// fuzz: {"kind": "ir", "seed": 75, "failure": "opt: traceback: MemoryError: "}
builtin.module attributes {a = 5 : i6499999999999} {
}
