// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_model/interpreter/edit.hpp"
#include "tests/gpu_model/tests/interpreted.hpp"

namespace gpu_model {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A module of one kernel of (pointer, factor) that stores 3 x factor + 1, with `line` before the store.
std::string kernel_with(const std::string& line) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry triple(\n.param .u64 pointer,\n.param .u32 factor\n)\n.maxntid 64, 2, 1\n{\n"
         ".reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n"
         "ld.param.u64 %rd1, [pointer];\n"
         "ld.param.u32 %r1, [factor];\n"
         "mul.lo.s32 %r2, %r1, 3;\n"
         "add.s32 %r3, %r2, 1;\n" +
         line +
         "\n"
         "st.global.u32 [%rd1], %r3;\n"
         "ret;\n}\n";
}

/// What the kernel stores for a factor of 5.
int result_of(const Module& module) {
  DeviceArray<int> out(1);
  int* pointer = out.data();
  int factor = 5;
  void* parameters[] = {static_cast<void*>(&pointer), static_cast<void*>(&factor)};
  Time time;
  Counters counters;
  run(module.find("triple"), {1}, {1}, {1}, 0, parameters, time, counters);
  return out[0];
}

TEST(Module, ListsItsKernels) {
  const Module module(kernel_with(""));
  EXPECT_THAT(module.functions(), ElementsAre("triple"));
  EXPECT_THAT(module.unknown(), IsEmpty());
  EXPECT_EQ(module.find("other"), nullptr);
  const FunctionInfo& about = info(module.find("triple"));
  EXPECT_EQ(about.max_threads, 128);
  EXPECT_THAT(about.param_sizes, ElementsAre(8, 4));
  EXPECT_THAT(about.param_offsets, ElementsAre(0, 8));
  EXPECT_EQ(result_of(module), 16);
}

TEST(Module, ARegisterThatAPathLeavesUnwrittenIsPoisoned) {
  constexpr int poison = -1;
  const auto stored = [](const std::string& lines) {
    const std::string start = ".reg .pred %p<3>;\n.reg .b32 %q<3>;\nsetp.eq.s32 %p1, %r1, 5;\n";
    result_of(Module(kernel_with(".reg .b32 %q;\nmov.b32 %q, 7;\nmov.b32 %r3, %q;")));  // registers keep what a launch leaves
    return result_of(Module(kernel_with(start + lines)));
  };
  EXPECT_EQ(stored("mov.b32 %r3, %q1;"), poison);
  EXPECT_EQ(stored("@!%p1 mov.b32 %q1, 3;\nmov.b32 %r3, %q1;"), poison);
  EXPECT_EQ(stored("@%p1 bra $L_end;\nmov.b32 %q1, 3;\n$L_end:\nmov.b32 %r3, %q1;"), poison);
  EXPECT_EQ(stored("@!%p1 bra $L_end;\nmov.b32 %q1, 3;\n$L_end:\nmov.b32 %r3, %q1;"), 3);
  EXPECT_EQ(stored("bra $L_first;\n$L_second:\nmov.b32 %r3, %q1;\nbra $L_end;\n"
                   "$L_first:\nmov.b32 %q2, 3;\nbra $L_second;\n$L_end:"),
            poison);
  // In a loop's first round.
  EXPECT_EQ(stored("mov.b32 %q2, 0;\n$L_again:\nsetp.eq.s32 %p1, %q2, 0;\n@%p1 mov.b32 %r3, %q1;\nmov.b32 %q1, 3;\n"
                   "add.s32 %q2, %q2, 1;\nsetp.lt.s32 %p2, %q2, 2;\n@%p2 bra $L_again;"),
            poison);
}

TEST(Module, AnUnknownInstructionIsListedAndFaultsOnlyWhereItRuns) {
  const Module unknown(kernel_with("frobnicate.b32 %r3, %r2;"));
  EXPECT_THAT(unknown.unknown(), ElementsAre(AllOf(HasSubstr("frobnicate.b32"), HasSubstr("16"))));
  EXPECT_THAT(text_of_fault(Fault::Kind::unsupported, [&] { result_of(unknown); }),
              AllOf(HasSubstr("frobnicate.b32"), HasSubstr("triple")));
  const Module skipped(kernel_with("bra $L_store;\nfrobnicate.b32 %r3, %r2;\n$L_store:"));
  EXPECT_EQ(result_of(skipped), 16);
}

TEST(Module, AnInstructionWithAModifierThatItsOpcodeLacksIsUnknown) {
  for (const char* line : {"add.cc.s32 %r3, %r2, 1;", "mad.hi.sat.s32 %r3, %r1, %r2, %r1;",
                           "min.xorsign.abs.f32 %r3, %r1, %r2;", "cvt.rz.relu.f16x2.f32 %r3, %r1, %r2;"}) {
    const Module module(kernel_with(line));
    EXPECT_EQ(module.unknown().size(), 1) << line;
    text_of_fault(Fault::Kind::unsupported, [&] { result_of(module); });
  }
}

TEST(Module, FtzFlushesSubnormalNumbers) {
  const std::string subnormal = "mov.b32 %r1, 0x00400000;\nmov.b32 %r2, 0x80000001;\n";
  constexpr int minus_zero = static_cast<int>(0x80000000);
  EXPECT_EQ(result_of(Module(kernel_with(subnormal + "max.f32 %r3, %r1, %r2;"))), 0x00400000);
  EXPECT_EQ(result_of(Module(kernel_with(subnormal + "max.ftz.f32 %r3, %r1, %r2;"))), 0);
  EXPECT_EQ(result_of(Module(kernel_with(subnormal + "min.ftz.f32 %r3, %r1, %r2;"))), minus_zero);
  EXPECT_EQ(result_of(Module(kernel_with(subnormal + "neg.ftz.f32 %r3, %r1;"))), minus_zero);
  EXPECT_EQ(result_of(Module(kernel_with(subnormal + "abs.ftz.f32 %r3, %r2;"))), 0);
  EXPECT_EQ(result_of(Module(kernel_with(subnormal + "add.ftz.f32 %r3, %r1, %r1;"))), 0);
}

TEST(Module, MalformedTextThrows) {
  EXPECT_THROW(Module("nonsense"), std::runtime_error);
  EXPECT_THROW(Module(".version 8.0\n.visible .entry broken(\n"), std::runtime_error);
}

TEST(Edit, ReplacesOnEveryMatchingLine) {
  const Setting edit("GPUMODEL_EDIT", R"(, (\d);$=>, 1$1;)");
  EXPECT_EQ(edited("a 1, 2;\nb 3;\nc 4, 5;\n", "kernel"), "a 1, 12;\nb 3;\nc 4, 15;\n");
  EXPECT_EQ(result_of(Module(kernel_with(""))), 5 * 13 + 11);
}

TEST(Edit, OfOnePlaceAlone) {
  const Setting edit("GPUMODEL_EDIT", R"(, (\d);$=>, 1$1;)"), place("GPUMODEL_EDIT_PLACE", "1");
  EXPECT_EQ(result_of(Module(kernel_with(""))), 5 * 3 + 11);
}

TEST(Edit, OfKernelsWhoseNamesMatch) {
  const Setting edit("GPUMODEL_EDIT", "mul.lo.s32=>add.s32");
  {
    const Setting kernel("GPUMODEL_EDIT_KERNEL", "^tri.*e$");
    EXPECT_EQ(result_of(Module(kernel_with(""))), 5 + 3 + 1);
  }
  const Setting kernel("GPUMODEL_EDIT_KERNEL", "double");
  EXPECT_EQ(result_of(Module(kernel_with(""))), 16);
}

TEST(Edit, SaysHowManyLinesChanged) {
  const Setting edit("GPUMODEL_EDIT", "%r3=>%r2");
  testing::internal::CaptureStderr();
  EXPECT_EQ(result_of(Module(kernel_with(""))), 16);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("changed 2 lines"), HasSubstr("triple")));
}

TEST(Edit, WithoutPatternOrArrowThrows) {
  for (const char* malformed : {"no arrow", "=>replacement", "(=>unbalanced"}) {
    const Setting edit("GPUMODEL_EDIT", malformed);
    EXPECT_ANY_THROW(edited("text", "kernel")) << malformed;
  }
}

}  // namespace
}  // namespace gpu_model
