/* What the calls of kernels look up each time, in one step.

   Compiled Python asks for each attribute of a slice or a frame by its name, which is most of what
   such a call costs. kernel_calls.py has the same in Python, for where there is no such module;
   tests/unit/semantics/test_kernel_calls.py compares them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *getframe; /* sys._getframe */

/* place_at(depth): the code and the offset in it where the frame of sys._getframe(depth) is. */
static PyObject *place_at(PyObject *module, PyObject *depth) {
    PyObject *frame = PyObject_CallOneArg(getframe, depth);
    if (!frame) return NULL;
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *offset = PyLong_FromLong(PyFrame_GetLasti((PyFrameObject *)frame));
    PyObject *place = offset ? PyTuple_Pack(2, code, offset) : NULL;
    Py_DECREF(frame);
    Py_DECREF(code);
    Py_XDECREF(offset);
    return place;
}

/* Part of one dimension, which has `most` tiles. */
typedef struct {
    long start, stop, most;
} Extent;

/* A number of Python's in C; 0 if it is of another type, or too large. */
static int is_taken(PyObject *number, long *taken) {
    int is_too_large = 0;
    if (!PyLong_CheckExact(number)) return 0;
    *taken = PyLong_AsLongAndOverflow(number, &is_too_large);
    return !is_too_large;
}

static int is_inside(const Extent *extent) {
    return 0 <= extent->start && extent->start < extent->stop && extent->stop <= extent->most;
}

static int is_range(PyObject *item, Extent *extent) {
    if (!PySlice_Check(item)) return 0;
    PySliceObject *range = (PySliceObject *)item;
    return range->step == Py_None && is_taken(range->start, &extent->start) &&
           is_taken(range->stop, &extent->stop) && is_inside(extent);
}

static int is_index(PyObject *item, Extent *extent) {
    if (!is_taken(item, &extent->start) || extent->start >= extent->most) return 0;
    extent->stop = extent->start + 1;
    return is_inside(extent);
}

static PyObject *pair(long first, long second) {
    PyObject *a = PyLong_FromLong(first), *b = PyLong_FromLong(second);
    PyObject *made = a && b ? PyTuple_Pack(2, a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return made;
}

/* tile_bounds(items, rows, columns): starts and sizes of matrix[items], which has so many tiles;
   None unless these are two plain slices, or two indices, inside of it. */
static PyObject *tile_bounds(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 3) return PyErr_Format(PyExc_TypeError, "tile_bounds() takes 3 arguments");
    PyObject *items = arguments[0];
    Extent rows, columns;
    if (!PyTuple_CheckExact(items) || PyTuple_GET_SIZE(items) != 2) Py_RETURN_NONE;
    if (!is_taken(arguments[1], &rows.most) || !is_taken(arguments[2], &columns.most))
        Py_RETURN_NONE;
    PyObject *row = PyTuple_GET_ITEM(items, 0), *column = PyTuple_GET_ITEM(items, 1);
    if (!(is_range(row, &rows) && is_range(column, &columns)) &&
        !(is_index(row, &rows) && is_index(column, &columns)))
        Py_RETURN_NONE;
    PyObject *starts = pair(rows.start, columns.start);
    PyObject *sizes = pair(rows.stop - rows.start, columns.stop - columns.start);
    PyObject *made = starts && sizes ? PyTuple_Pack(2, starts, sizes) : NULL;
    Py_XDECREF(starts);
    Py_XDECREF(sizes);
    return made;
}

/* references(items, index): how many references there are to an item of a list. */
static PyObject *references(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2) return PyErr_Format(PyExc_TypeError, "references() takes 2 arguments");
    Py_ssize_t index = PyLong_AsSsize_t(arguments[1]);
    if (index == -1 && PyErr_Occurred()) return NULL;
    PyObject *item = PyList_GetItem(arguments[0], index); /* borrowed */
    return item ? PyLong_FromSsize_t(Py_REFCNT(item)) : NULL;
}

static PyMethodDef FUNCTIONS[] = {
    {"place_at", place_at, METH_O, NULL},
    {"tile_bounds", (PyCFunction)(void (*)(void))tile_bounds, METH_FASTCALL, NULL},
    {"references", (PyCFunction)(void (*)(void))references, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_kernel_calls", "What calls of kernels look up.", -1, FUNCTIONS,
};

PyMODINIT_FUNC PyInit__kernel_calls(void) {
    getframe = Py_XNewRef(PySys_GetObject("_getframe"));
    if (!getframe) return NULL;
    return PyModule_Create(&MODULE);
}
