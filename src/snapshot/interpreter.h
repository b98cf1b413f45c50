/* snapshot/interpreter.h -- functions of the image's own Python: its stable interface, and some others that
 * exist since 3.9. */
#pragma once

#define WEAK __attribute__((weak))
typedef struct py PyObject; /* NOLINT: the interpreter's name */
extern PyObject *PyImport_AddModule(const char *) WEAK;
extern PyObject *PyModule_GetDict(PyObject *) WEAK;
extern PyObject *PyDict_New(void) WEAK;
extern PyObject *PySys_GetObject(const char *) WEAK;
extern int PyDict_SetItemString(PyObject *, const char *, PyObject *) WEAK;
extern PyObject *PyDict_GetItemString(PyObject *, const char *) WEAK;
extern PyObject *PyEval_GetBuiltins(void) WEAK;
extern PyObject *Py_CompileString(const char *, const char *, int) WEAK;
extern PyObject *PyEval_EvalCode(PyObject *, PyObject *, PyObject *) WEAK;
extern PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...) WEAK;
extern PyObject *PyObject_CallFunction(PyObject *, const char *, ...) WEAK;
extern PyObject *PyErr_Occurred(void) WEAK;
extern void PyErr_Print(void) WEAK;
extern void PyErr_Clear(void) WEAK;
extern int PyErr_ExceptionMatches(PyObject *) WEAK;
extern void PyErr_Fetch(PyObject **, PyObject **, PyObject **) WEAK;
extern void PyErr_Restore(PyObject *, PyObject *, PyObject *) WEAK;
extern int Py_FinalizeEx(void) WEAK;
extern PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *)) WEAK;
extern char _Py_NoneStruct WEAK;
extern PyObject *PyExc_SystemExit WEAK, *PyExc_KeyboardInterrupt WEAK, *PyExc_ResourceWarning WEAK;
extern int PyObject_IsTrue(PyObject *) WEAK;
extern long PyLong_AsLong(PyObject *) WEAK;
extern PyObject *PyLong_FromLong(long) WEAK;
extern long PyTuple_Size(PyObject *) WEAK;
extern PyObject *PyBytes_FromStringAndSize(const char *, long) WEAK;
extern const char *PyUnicode_AsUTF8AndSize(PyObject *, long *) WEAK;
extern void Py_IncRef(PyObject *) WEAK;
extern void Py_DecRef(PyObject *) WEAK;
extern int PyGILState_Ensure(void) WEAK;
extern void PyOS_BeforeFork(void) WEAK;
extern void PyOS_AfterFork_Parent(void) WEAK;
extern void PyOS_AfterFork_Child(void) WEAK;
extern PyObject *PyUnicode_InternFromString(const char *) WEAK;
extern PyObject *PyUnicode_DecodeFSDefault(const char *) WEAK;
extern PyObject *PyDict_GetItem(PyObject *, PyObject *) WEAK;
extern int PyDict_SetItem(PyObject *, PyObject *, PyObject *) WEAK;
extern long PyDict_Size(PyObject *) WEAK;
extern int PyDict_Next(PyObject *, long *, PyObject **, PyObject **) WEAK;
extern int PyDict_DelItem(PyObject *, PyObject *) WEAK;
extern PyObject *Py_CompileStringObject(const char *, PyObject *, int, void *, int) WEAK;
extern PyObject *PyObject_CallMethodObjArgs(PyObject *, PyObject *, ...) WEAK;
#define FILE_INPUT 257
extern void PyErr_NormalizeException(PyObject **, PyObject **, PyObject **) WEAK;
extern PyObject *PyObject_GetAttrString(PyObject *, const char *) WEAK;
extern PyObject *PyObject_Type(PyObject *) WEAK;
extern unsigned long PyType_GetFlags(PyObject *) WEAK;
extern int PyObject_Print(PyObject *, void *, int) WEAK;
extern int PyFile_WriteObject(PyObject *, PyObject *, int) WEAK;
extern void PySys_WriteStderr(const char *, ...) WEAK;
extern int PyRun_SimpleFileExFlags(void *, const char *, int, void *) WEAK;
extern long PyGC_Collect(void) WEAK;
extern void PyDict_Clear(PyObject *) WEAK;
extern PyObject *PyImport_GetModuleDict(void) WEAK;
extern PyObject *PyModule_New(const char *) WEAK;
extern long PyList_Size(PyObject *) WEAK;
extern PyObject *PyList_GetItem(PyObject *, long) WEAK;
extern int PyList_Append(PyObject *, PyObject *) WEAK;
extern int PySequence_DelItem(PyObject *, long) WEAK;
extern PyObject *PyTuple_GetItem(PyObject *, long) WEAK;
struct method; /* PyMethodDef */
extern PyObject *PyCFunction_NewEx(struct method *, PyObject *, PyObject *) WEAK;
extern PyObject *PyCFunction_GetSelf(PyObject *) WEAK;
extern void *PyCFunction_GetFunction(PyObject *) WEAK;
extern int PyCFunction_GetFlags(PyObject *) WEAK;
extern int PySys_SetObject(const char *, PyObject *) WEAK;
extern PyObject *PyObject_CallObject(PyObject *, PyObject *) WEAK;
extern PyObject *PyFunction_GetGlobals(PyObject *) WEAK;
extern int PyType_IsSubtype(PyObject *, PyObject *) WEAK;
extern PyObject *_PyType_Lookup(PyObject *, PyObject *) WEAK; /* private, but exported by all versions */
extern char PyFunction_Type WEAK, PyCFunction_Type WEAK, _PyWeakref_RefType WEAK, _PyWeakref_ProxyType WEAK,
        _PyWeakref_CallableProxyType WEAK;

static inline int is_none(PyObject *object)
{
        return !object || object == (PyObject *)&_Py_NoneStruct;
}
