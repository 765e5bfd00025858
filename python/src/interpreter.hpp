#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

// The lock of the interpreter, in threads that the interpreter may end. Before 3.14 an interpreter
// that finishes ends a daemon thread where that wants the lock, by pthread_exit, which unwinds its
// stack; functions of C++ that must not throw then end the process (std::terminate). Such a thread
// waits here for the end of the process instead, as all do from 3.14 on.

namespace python_module {

namespace nb = nanobind;

/// Stops the thread for good where its stack is unwound.
class WaitIfUnwound {
  public:
    WaitIfUnwound() = default;
    WaitIfUnwound(const WaitIfUnwound&) = delete;
    WaitIfUnwound& operator=(const WaitIfUnwound&) = delete;
    ~WaitIfUnwound() {
        while (!done_) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    void done() { done_ = true; }

  private:
    bool done_ = false;
};

/// Takes the lock of the interpreter, as nb::gil_scoped_acquire.
class WithLock {
  public:
    WithLock() : state_(take()) {}
    WithLock(const WithLock&) = delete;
    WithLock& operator=(const WithLock&) = delete;
    ~WithLock() { PyGILState_Release(state_); }

  private:
    [[gnu::noinline]] static PyGILState_STATE take() {
        WaitIfUnwound wait;
        const PyGILState_STATE state = PyGILState_Ensure();
        wait.done();
        return state;
    }
    PyGILState_STATE state_;
};

/// Gives the lock back while it lives, as nb::gil_scoped_release.
class WithoutLock {
  public:
    WithoutLock() : state_(PyEval_SaveThread()) {}
    WithoutLock(const WithoutLock&) = delete;
    WithoutLock& operator=(const WithoutLock&) = delete;
    ~WithoutLock() { take(state_); }

  private:
    [[gnu::noinline]] static void take(PyThreadState* state) {
        WaitIfUnwound wait;
        PyEval_RestoreThread(state);
        wait.done();
    }
    PyThreadState* state_;
};

/// function(arguments...) of Python, which may give the lock away and take it again.
template <class... Arguments>
nb::object call_python(nb::handle function, Arguments&&... arguments) {
    const nb::tuple given = nb::make_tuple(std::forward<Arguments>(arguments)...);
    WaitIfUnwound wait;
    PyObject* const result = PyObject_CallObject(function.ptr(), given.ptr());
    wait.done();
    if (result == nullptr) throw nb::python_error();
    return nb::steal(result);
}

}  // namespace python_module
