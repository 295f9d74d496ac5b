"""`blas.py SIZE`: y = a @ b, square, in float32 by numpy: what the matrix product itself costs."""

import sys

import numpy as np
from measure import WARM, peak_bytes, random_array, report, spent

SIZE = int(sys.argv[1])

random = np.random.default_rng(0)
a, b = (random_array(random, SIZE, SIZE) for _ in range(2))
y = np.empty((SIZE, SIZE), np.float32)
calls = [spent(np.matmul, a, b, y) for _ in range(1 + WARM)]
report(calls, peak_bytes(), error=0.0)
