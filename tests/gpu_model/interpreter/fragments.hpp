// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Matrix fragments in registers, as mma.sync and wgmma share them (PTX ISA, "Matrix Fragments for mma.m16n8k*" and "Register
// Fragments and Shared Memory Matrix Layouts"). Values are held in double, which is exact for every element type, and sums are
// formed in double: more exact than the tensor cores are.
#pragma once
#include <optional>

#include "decoder.hpp"
#include "machine.hpp"

namespace gpu_model {

enum class Element : u8 { f16, bf16, tf32, e4m3, e5m2, s8, u8, f64, e2m1 };
enum class Accumulator : u8 { f32, f16, s32, f64 };

int bytes_of(Element);  // not of e2m1, two of which share a byte
u32 elements_in(Element, u32 bytes);
std::optional<Element> element_of(Type);
std::optional<Accumulator> accumulator_of(Type);
/// Elements of an accumulator per register.
inline u32 packed(Accumulator accumulator) { return accumulator == Accumulator::f16 ? 2 : 1; }

/// Widens `count` neighbours in memory to out[0], out[stride], ...
void widen(Element, const u8* from, int count, double* out, int stride);

/// Fragments of the warp's 32 lanes, one row of the register file per register; the matrices are row-major.
/// A is [rows, columns] with 8 or 16 rows, B is [columns of A, width], C and D are [rows, width]; B's fragment has 8 columns.
struct Fragment {
  const u32* registers = nullptr;
  u32 count = 0;
};
void read_a(const Warp&, Fragment, Element, int rows, int columns, double* a);
void read_b(const Warp&, Fragment, Element, int width, double* b);
void read_c(const Warp&, Fragment, Accumulator, int width, double* c);
/// `saturate` clamps s32; it wraps around otherwise.
void write_d(const Warp&, Fragment, Accumulator, int width, bool saturate, const double* d);

/// d += a b, of [m, k] and [k, n]; m is a multiple of 4, n of 8.
void multiply_add(const double* a, const double* b, double* d, int m, int n, int k);

/// "m16n8k16" among the parts of an opcode.
struct MatrixShape {
  int m = 0, n = 0, k = 0;
};
std::optional<MatrixShape> shape_of(const Mnemonic&);

/// Appends the rows of a fragment's registers, of the size of `type`, and returns their number. Throws a DecodeError where a
/// register has another size.
u32 append_registers(Builder&, const Operand&, Type type, std::vector<u32>& rows);
u32 append_destinations(Builder&, const Operand&, Type type, std::vector<u32>& rows);

}  // namespace gpu_model
