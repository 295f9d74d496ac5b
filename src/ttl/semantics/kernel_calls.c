/* What the calls of kernels look up each time, in one step.

   Compiled Python asks for each attribute of a slice or a frame by its name, which is most of what
   such a call costs. kernel_calls.py has the same in Python, for where there is no such module;
   tests/unit/semantics/test_kernel_calls.py compares them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

static PyObject *getframe; /* sys._getframe */

/* Places -------------------------------------------------------------------------------------- */

/* A place is what a call site has: kernels come back to the same ones, so they are kept. */
enum { KEPT_PLACES = 256 };
static PyObject *kept_places[KEPT_PLACES];

static PyObject **shelf_of(const PyObject *code, int offset) {
    return &kept_places[(((uintptr_t)code >> 5) + (unsigned)offset / 2) % KEPT_PLACES];
}

static PyObject *kept_place(const PyObject *code, int offset) {
    PyObject *kept = *shelf_of(code, offset);
    int is_it = kept && PyTuple_GET_ITEM(kept, 0) == code &&
                PyLong_AsLong(PyTuple_GET_ITEM(kept, 1)) == offset;
    return is_it ? Py_NewRef(kept) : NULL;
}

/* Keeps it. */
static PyObject *place_of(PyObject *code, int offset) {
    PyObject *number = PyLong_FromLong(offset);
    PyObject *place = number ? PyTuple_Pack(2, code, number) : NULL;
    Py_XDECREF(number);
    if (place) Py_XSETREF(*shelf_of(code, offset), Py_NewRef(place));
    return place;
}

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

typedef PyObject *CompiledMethod(PyObject *self, PyObject *const *, Py_ssize_t, PyObject *names);

/* Functions of the language that call a method of an engine, by their code. A module that is loaded
   again has the same code once more. */
enum { MOST_CODES = 32 };
static PyObject *codes[MOST_CODES];
static int code_count;

/* The place of the code among these, or of a new one; -1 without room. */
static int number_of(PyObject *code) {
    for (int n = 0; n < code_count; n++) {
        int is_equal = PyObject_RichCompareBool(codes[n], code, Py_EQ);
        if (is_equal < 0) PyErr_Clear();
        if (is_equal == 1) return n;
    }
    return code_count < MOST_CODES ? code_count++ : -1;
}

static int is_of_language(const PyObject *code) {
    for (int n = 0; n < code_count; n++)
        if (codes[n] == code) return 1;
    return 0;
}

/* calls_engine(function): its number; its calls of an engine are those of its caller. */
static PyObject *calls_engine(PyObject *module, PyObject *function) {
    if (!PyFunction_Check(function))
        return PyErr_Format(PyExc_TypeError, "calls_engine() takes a function");
    int number = number_of(PyFunction_GET_CODE(function));
    if (number >= 0) Py_XSETREF(codes[number], Py_NewRef(PyFunction_GET_CODE(function)));
    return PyLong_FromLong(number);
}

/* Some of them, by the same numbers, whose calls go to a method of the engine that is running. */
typedef struct {
    PyObject *function, *engine, *method; /* `engine` is a ContextVar */
    Py_ssize_t arguments;
    PyTypeObject *type; /* of the engine that was asked last, and what its method is in C */
    CompiledMethod *compiled;
} Short;

static Short shorts[MOST_CODES];
static vectorcallfunc in_python; /* what calls a function that is not shortened */

/* place_of_call(depth): where a function of the language was called, in the method of an engine that
   this calls. The function has a frame, at `depth` - 1, or, if it was shortened, none; compiled
   methods have none. */
static PyObject *place_of_call(PyObject *module, PyObject *depth) {
#if PY_VERSION_HEX >= 0x030C0000
    PyThreadState *state = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030D0000
    struct _PyInterpreterFrame *frame = state->current_frame;
#else
    struct _PyInterpreterFrame *frame = state->cframe->current_frame;
#endif
    PyObject *code = frame ? PyUnstable_InterpreterFrame_GetCode(frame) : NULL;
    if (code) {
        int offset = PyUnstable_InterpreterFrame_GetLasti(frame);
        PyObject *place = kept_place(code, offset);
        if (!place && !is_of_language(code)) place = place_of(code, offset);
        Py_DECREF(code);
        if (place) return place;
    }
#endif
    return place_at(module, depth);
}

#if PY_VERSION_HEX >= 0x030C0000
/* One that was loaded before has no place any more. */
static Short *short_of(const PyObject *function) {
    for (int n = 0; n < code_count; n++)
        if (shorts[n].function == function) return &shorts[n];
    return NULL;
}

/* The compiled method of such engines; NULL without an error if it is none. */
static CompiledMethod *find_compiled(PyTypeObject *type, PyObject *name) {
    PyObject *method = PyObject_GetAttr((PyObject *)type, name);
    CompiledMethod *found = NULL;
    if (method && Py_IS_TYPE(method, &PyMethodDescr_Type)) {
        const PyMethodDef *definition = ((PyMethodDescrObject *)method)->d_method;
        if (definition->ml_flags == (METH_FASTCALL | METH_KEYWORDS))
            found = (CompiledMethod *)(void (*)(void))definition->ml_meth;
    }
    Py_XDECREF(method); /* the type keeps it */
    PyErr_Clear();
    return found;
}

static PyObject *call_method(Short *called, PyObject *engine, PyObject *const *arguments) {
    if (Py_TYPE(engine) != called->type) {
        Py_XSETREF(called->type, (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(engine)));
        called->compiled = find_compiled(called->type, called->method);
    }
    if (called->compiled) return called->compiled(engine, arguments, called->arguments, NULL);
    PyObject *all[] = {engine, arguments[0], called->arguments > 1 ? arguments[1] : NULL};
    return PyObject_VectorcallMethod(called->method, all, 1 + called->arguments, NULL);
}

/* Does what the function does, in fewer steps, for the arguments that it is nearly always given. */
static PyObject *call_engine(
    PyObject *function, PyObject *const *arguments, size_t flags, PyObject *names
) {
    Short *found = short_of(function);
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    PyObject *engine = NULL;
    if (!found || given != found->arguments || names)
        return in_python(function, arguments, flags, names);
    if (PyContextVar_Get(found->engine, NULL, &engine) < 0) return NULL;
    if (!engine || engine == Py_None) {
        Py_XDECREF(engine);
        return in_python(function, arguments, flags, names);
    }
    PyObject *made = call_method(found, engine, arguments);
    Py_DECREF(engine);
    return made;
}
#endif

/* shorten(function, engine, method): from now on calls of the function go to this method of the engine
   that the variable holds, with the same arguments, one or two. Where there is none, and for all other
   calls, the function is run, which must do the same. Python 3.11 always runs it. */
static PyObject *shorten(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 3) return PyErr_Format(PyExc_TypeError, "shorten() takes 3 arguments");
    PyObject *answer = calls_engine(module, arguments[0]);
    long number = answer ? PyLong_AsLong(answer) : -1;
    Py_XDECREF(answer);
    if (PyErr_Occurred()) return NULL;
    if (number < 0) Py_RETURN_NONE; /* without room it stays as it is */
    PyFunctionObject *function = (PyFunctionObject *)arguments[0];
    Py_ssize_t optional = function->func_defaults ? PyTuple_GET_SIZE(function->func_defaults) : 0;
    Short *place = &shorts[number];
    Py_XSETREF(place->function, Py_NewRef(arguments[0]));
    Py_XSETREF(place->engine, Py_NewRef(arguments[1]));
    Py_XSETREF(place->method, Py_NewRef(arguments[2]));
    Py_CLEAR(place->type);
    place->arguments = ((PyCodeObject *)function->func_code)->co_argcount - optional;
#if PY_VERSION_HEX >= 0x030C0000
    if (function->vectorcall != call_engine) in_python = function->vectorcall;
    PyFunction_SetVectorcall(function, call_engine);
#endif
    Py_RETURN_NONE;
}

/* Slices -------------------------------------------------------------------------------------- */

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

/* The same; most programs ask for parts of one size again and again. */
static PyObject *kept_pair(long first, long second) {
    static PyObject *kept[8][8];
    if (first < 0 || first >= 8 || second < 0 || second >= 8) return pair(first, second);
    if (!kept[first][second]) kept[first][second] = pair(first, second);
    return Py_XNewRef(kept[first][second]);
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
    PyObject *sizes = kept_pair(rows.stop - rows.start, columns.stop - columns.start);
    PyObject *made = starts && sizes ? PyTuple_Pack(2, starts, sizes) : NULL;
    Py_XDECREF(starts);
    Py_XDECREF(sizes);
    return made;
}

/* Blocks -------------------------------------------------------------------------------------- */

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
    {"place_of_call", place_of_call, METH_O, NULL},
    {"calls_engine", calls_engine, METH_O, NULL},
    {"shorten", (PyCFunction)(void (*)(void))shorten, METH_FASTCALL, NULL},
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
