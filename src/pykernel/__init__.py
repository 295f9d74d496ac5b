"""pykernel: kernels as threads of cores; `from pykernel.d2m_api import *`."""
