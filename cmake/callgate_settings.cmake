# How every target of ours is compiled. All of it is scoped to this directory: neither a program that uses the installed
# library nor a project that adds this repository as a subdirectory inherits any.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(CALLGATE_CCACHE ccache)
if(CALLGATE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CALLGATE_CCACHE})
  if(CALLGATE_PCH)
    # Or it keeps nothing that was compiled with a precompiled header.
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endif()

add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wcast-qual -Wformat=2 -Wimplicit-fallthrough -Wextra-semi -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wduplicated-cond -Wlogical-op)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    add_compile_options(-Wno-restrict)  # GCC bug 105651: false alarms inside std::string
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      # More of them, where it inlines more. The lanes of the tests keep these warnings, and have ASan.
      add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
  if(CALLGATE_UNITY)
    add_compile_options(-Wno-subobject-linkage)  # a class of a source that is included may use its anonymous namespace
  endif()
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    add_compile_options(-Wno-maybe-uninitialized)  # instrumented code confuses this one
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)  # src/base/mutex.h
endif()
if(CALLGATE_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()

if(CALLGATE_FAILPOINTS)
  add_compile_definitions(CALLGATE_FAILPOINTS)
endif()
