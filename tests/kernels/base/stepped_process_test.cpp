// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/stepped_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

using namespace std::chrono_literals;

SteppedProcess shell(const std::string& script, std::chrono::milliseconds limit = SteppedProcess::kLimit) {
  return {"/bin/sh", {"-c", script}, limit};
}

/// What a process does that tells of `steps` steps.
std::string steps(int steps) {
  std::string script;
  for (int i = 0; i < steps; ++i) script += std::string(i > 0 ? "head -c 1 >/dev/null; " : "") + "printf . >&0; ";
  return script;
}

/// The text of the error that is thrown.
template <class Error>
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another kind: ") + error.what();
  }
  return "none";
}

void expect_no_child() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(SteppedProcess, GoesFromStepToStepAndEndsAndIsStartedAgain) {
  SteppedProcess process = shell(steps(3));
  for (int i = 0; i < 3; ++i) {
    process.start();
    process.await_step();
    for (int step = 0; step < 2; ++step) {
      process.go_on();
      process.await_step();
    }
    process.await_end();
    expect_no_child();
  }
  process.await_end();
}

TEST(SteppedProcess, WaitsBeforeEachStepUntilItMayGoOn) {
  SteppedProcess process = shell(steps(2), 200ms);
  process.start();
  process.await_step();
  EXPECT_EQ(error_of<DeviceError>([&] { process.await_step(); }), "sh did not answer within 200 ms, and was killed");
  expect_no_child();
}

TEST(SteppedProcess, EndsWhereItIsNotLetGoOn) {
  SteppedProcess process = shell(steps(1) + "read -r line; exit 0");
  process.start();
  process.await_step();
  process.await_end();
  expect_no_child();
}

TEST(SteppedProcess, AProgramThatDoesNotExistSaysSo) {
  SteppedProcess process("/nowhere/program", {});
  EXPECT_EQ(error_of<DeviceError>([&] { process.start(); }), "cannot start /nowhere/program: No such file or directory");
  process.await_end();
  expect_no_child();
}

TEST(SteppedProcess, AnEndBeforeTheStepHasItsStatusAndLastLine) {
  const auto failure = [](const std::string& script) {
    return error_of<DeviceError>([&] {
      SteppedProcess process = shell(script);
      process.start();
      process.await_step();
    });
  };
  EXPECT_EQ(failure("exit 5"), "sh ended with status 5");
  EXPECT_EQ(failure("echo at first; echo the reason >&2; exit 1"), "sh ended with status 1: the reason");
  EXPECT_EQ(failure("exit 3"), "sh ended with status 3") << "it does not say what is unsupported";
  EXPECT_EQ(failure("exit 0"), "sh ended before it finished its step");
  EXPECT_EQ(failure("kill -SEGV $$"), "sh was ended by signal 11");
  EXPECT_EQ(failure("printf %600s x; exit 1"), "sh ended with status 1: " + std::string(511, ' ') + "x");
  expect_no_child();
}

TEST(SteppedProcess, AnEndBehindTheStepCountsToo) {
  SteppedProcess process = shell(steps(1) + "echo late >&2; exit 7");
  process.start();
  process.await_step();
  EXPECT_EQ(error_of<DeviceError>([&] { process.await_end(); }), "sh ended with status 7: late");
  expect_no_child();
}

TEST(SteppedProcess, WhatItSaysIsOfThisProcessAlone) {
  const std::string mark = testing::TempDir() + "stepped_process_" + std::to_string(::getpid());
  SteppedProcess process = shell("[ -e " + mark + " ] && exit 1; : >" + mark + "; echo the first; exit 1");
  for (const char* said : {"sh ended with status 1: the first", "sh ended with status 1"}) {
    process.start();
    EXPECT_EQ(error_of<DeviceError>([&] { process.await_step(); }), said);
  }
  std::filesystem::remove(mark);
}

TEST(SteppedProcess, TheStatusForUnsupportedIsThatWithItsReason) {
  SteppedProcess process = shell("echo not on this GPU; exit 3");
  process.start();
  EXPECT_EQ(error_of<Unsupported>([&] { process.await_step(); }), "not on this GPU");
  expect_no_child();
}

TEST(SteppedProcess, AProcessThatNeverAnswersIsKilled) {
  SteppedProcess process = shell("trap '' TERM; echo busy; sleep 60", 200ms);
  process.start();
  EXPECT_EQ(error_of<DeviceError>([&] { process.await_step(); }), "sh did not answer within 200 ms, and was killed: busy");
  expect_no_child();
}

TEST(SteppedProcess, AProcessThatNeverEndsIsKilled) {
  SteppedProcess process = shell(steps(1) + "exec sleep 60", 200ms);
  process.start();
  process.await_step();
  EXPECT_EQ(error_of<DeviceError>([&] { process.await_end(); }), "sh did not answer within 200 ms, and was killed");
  expect_no_child();
}

TEST(SteppedProcess, NoProcessOutlivesItsOwner) {
  {
    SteppedProcess process = shell(steps(1) + "exec sleep 60");
    process.start();
    process.await_step();
  }
  expect_no_child();
}

TEST(SteppedProcess, GoingOnWithoutAProcessIsSaidByTheWait) {
  SteppedProcess process = shell(steps(1) + "exit 4");
  process.start();
  process.await_step();
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(error_of<DeviceError>([&] {
              process.go_on();
              process.await_step();
            }),
            "sh ended with status 4");
}

}  // namespace
}  // namespace roofmark
