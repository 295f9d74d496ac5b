/* As much of numpy's C interface as block_math.c uses, under numpy's names.

   numpy keeps these layouts and places for good, since modules that were built long ago rely on them.
   Written down here, they save whoever builds a wheel from fetching all of numpy for its headers. In
   numpy 2 only the size of an element has moved; a numpy whose arrays may be laid out in yet another
   way is not used: import_array() raises ImportError then. */

#ifndef TTL_NUMPY_ARRAYS_H
#define TTL_NUMPY_ARRAYS_H

#include <Python.h>
#include <stdint.h>

typedef Py_ssize_t npy_intp;

enum { NPY_FLOAT32 = 11, NPY_FLOAT64 = 12, NPY_USERDEF = 256 };
enum { IS_C_CONTIGUOUS = 1, IS_FORTRAN_CONTIGUOUS = 2, IS_ALIGNED = 0x100, IS_WRITEABLE = 0x400 };
#define OTHER_BYTE_ORDER (PY_BIG_ENDIAN ? '<' : '>')

typedef struct {
    PyObject_HEAD
    PyTypeObject *scalar;
    char kind, letter, byte_order, unused;
    int number;
    union {
        int size_in_1;
        struct {
            uint64_t flags;
            npy_intp size;
        } in_2;
    };
} ElementType;

typedef struct {
    PyObject_HEAD
    char *data;
    int dims;
    npy_intp *shape, *strides;
    PyObject *base;
    ElementType *element_type;
    int flags;
} PyArrayObject;

typedef PyObject *NewArray(
    PyTypeObject *, int dims, const npy_intp *shape, int type, const npy_intp *strides, void *data,
    int item_size, int flags, PyObject *like);

static PyTypeObject *array_type;
static NewArray *new_array;
static int is_numpy_2;

static inline int PyArray_Check(PyObject *object) { return PyObject_TypeCheck(object, array_type); }
static inline int PyArray_NDIM(const PyArrayObject *array) { return array->dims; }
static inline npy_intp *PyArray_DIMS(const PyArrayObject *array) { return array->shape; }
static inline npy_intp PyArray_DIM(const PyArrayObject *array, int n) { return array->shape[n]; }
static inline npy_intp *PyArray_STRIDES(const PyArrayObject *array) { return array->strides; }
static inline npy_intp PyArray_STRIDE(const PyArrayObject *array, int n) { return array->strides[n]; }
static inline void *PyArray_DATA(const PyArrayObject *array) { return array->data; }
static inline char *PyArray_BYTES(const PyArrayObject *array) { return array->data; }
static inline int PyArray_TYPE(const PyArrayObject *array) { return array->element_type->number; }

static inline npy_intp PyArray_ITEMSIZE(const PyArrayObject *array) {
    const ElementType *type = array->element_type;
    return is_numpy_2 ? type->in_2.size : type->size_in_1;
}

static inline int PyArray_ISONESEGMENT(const PyArrayObject *array) {
    return (array->flags & (IS_C_CONTIGUOUS | IS_FORTRAN_CONTIGUOUS)) != 0;
}

static inline int PyArray_ISWRITEABLE(const PyArrayObject *array) {
    return (array->flags & IS_WRITEABLE) != 0;
}

/* Numbers as the processor reads them. */
static inline int PyArray_ISBEHAVED_RO(const PyArrayObject *array) {
    return (array->flags & IS_ALIGNED) && array->element_type->byte_order != OTHER_BYTE_ORDER;
}

/* One after the other, too. */
static inline int PyArray_ISCARRAY_RO(const PyArrayObject *array) {
    return (array->flags & IS_C_CONTIGUOUS) && PyArray_ISBEHAVED_RO(array);
}

static inline void *PyArray_GETPTR2(const PyArrayObject *array, npy_intp row, npy_intp column) {
    return array->data + row * array->strides[0] + column * array->strides[1];
}

static inline npy_intp PyArray_SIZE(const PyArrayObject *array) {
    npy_intp size = 1;
    for (int n = 0; n < array->dims; n++) size *= array->shape[n];
    return size;
}

static inline int PyArray_SAMESHAPE(const PyArrayObject *a, const PyArrayObject *b) {
    if (a->dims != b->dims) return 0;
    for (int n = 0; n < a->dims; n++)
        if (a->shape[n] != b->shape[n]) return 0;
    return 1;
}

static inline PyObject *PyArray_SimpleNew(int dims, const npy_intp *shape, int type) {
    return new_array(array_type, dims, shape, type, NULL, NULL, 0, 0, NULL);
}

/* numpy's table of functions and types; NULL with an exception if there is none. */
static void **numpy_table(void) {
    PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (!module && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
        PyErr_Clear();
        module = PyImport_ImportModule("numpy.core._multiarray_umath"); /* numpy 1 */
    }
    PyObject *capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
    void **table = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    return table;
}

enum { TABLE_VERSION = 0, TABLE_ARRAY_TYPE = 2, TABLE_NEW_ARRAY = 93 };

/* Whether arrays can be used; an exception is set if not. */
static int import_array(void) {
    void **table = numpy_table();
    if (!table) return 0;
    unsigned int layout = ((unsigned int (*)(void))table[TABLE_VERSION])() >> 24;
    if (layout != 1 && layout != 2) {
        PyErr_Format(PyExc_ImportError, "numpy has arrays of layout %u", layout);
        return 0;
    }
    is_numpy_2 = layout == 2;
    array_type = table[TABLE_ARRAY_TYPE];
    new_array = (NewArray *)table[TABLE_NEW_ARRAY];
    return 1;
}

#endif
