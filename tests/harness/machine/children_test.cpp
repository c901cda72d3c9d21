// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/children.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>

namespace roofmark {
namespace {

namespace fs = std::filesystem;

pid_t shell(const std::string& script) { return start_process("/bin/sh", {"sh", "-c", script}); }

TEST(Children, EachOnesStatusIsGivenInTheOrderOfTheChildren) {
  const std::atomic<bool> interrupted{false};
  const auto statuses = wait_for({shell("sleep 0.2; exit 3"), shell("exit 0"), shell("kill -KILL $$")}, interrupted);
  ASSERT_EQ(statuses.size(), 3U);
  EXPECT_EQ(WEXITSTATUS(*statuses[0]), 3);
  EXPECT_EQ(statuses[1], 0);
  ASSERT_TRUE(WIFSIGNALED(*statuses[2]));
  EXPECT_EQ(WTERMSIG(*statuses[2]), SIGKILL);
}

// A parent may ignore SIGCHLD; that is inherited.
TEST(Children, StatusesAreNotLostWhereTheSignalOfTheirEndWasIgnored) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const std::atomic<bool> interrupted{false};
  EXPECT_EQ(WEXITSTATUS(*wait_for({shell("exit 3")}, interrupted)[0]), 3);
  ::signal(SIGCHLD, before);
}

TEST(Children, AnInterruptIsPassedOnOnceAndTheirEndsAreWaitedFor) {
  std::string name = (fs::temp_directory_path() / "roofmark-children-XXXXXX").string();
  const fs::path folder = mkdtemp(name.data());
  // Counts its signals, and takes its time to complete its files.
  const auto child = [&](const std::string& mark) {
    return shell("n=0; trap 'n=$((n + 1))' TERM; : >" + (folder / mark).string() +
                 "; while [ $n = 0 ]; do sleep 0.01; done; sleep 0.3; exit $((n + 40))");
  };
  const std::vector<pid_t> children = {child("a"), child("b"), shell("exit 0")};
  while (!fs::exists(folder / "a") || !fs::exists(folder / "b")) std::this_thread::yield();
  const std::atomic<bool> interrupted{true};
  const auto statuses = wait_for(children, interrupted);
  EXPECT_EQ(WEXITSTATUS(*statuses[0]), 41);
  EXPECT_EQ(WEXITSTATUS(*statuses[1]), 41);
  fs::remove_all(folder);
}

TEST(Children, OneThatIsStuckIsKilledAndNotWaitedFor) {
  const std::atomic<bool> interrupted{false};
  const std::vector<pid_t> children = {shell("exec sleep 1000"), shell("exit 3")};
  std::vector<int> asked(children.size());
  const auto statuses = wait_for(children, interrupted, [&](std::size_t child) { return child == 0 && ++asked[child] == 3; });
  EXPECT_FALSE(statuses[0]);
  EXPECT_EQ(WEXITSTATUS(*statuses[1]), 3);
  EXPECT_EQ(asked[0], 3);
  int status = 0;
  ASSERT_EQ(::waitpid(children[0], &status, 0), children[0]);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(Children, EndWithTheirParentHoweverThatEnds) {
  std::string name = (fs::temp_directory_path() / "roofmark-children-XXXXXX").string();
  const fs::path folder = mkdtemp(name.data());
  const pid_t parent = ::fork();
  if (parent == 0) {
    shell("cd " + folder.string() + "; trap ': >ended; exit' TERM; : >began; for i in $(seq 1000); do sleep 0.01; done");
    while (!fs::exists(folder / "began")) std::this_thread::yield();
    ::raise(SIGKILL);
  }
  ::waitpid(parent, nullptr, 0);
  for (int i = 0; i < 500 && !fs::exists(folder / "ended"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(fs::exists(folder / "ended"));
  fs::remove_all(folder);
}

TEST(Children, AProgramThatIsNotThereIsAnError) {
  EXPECT_THROW(start_process("/nonexistent/roofmark", {"roofmark"}), std::system_error);
}

TEST(Children, TheOutputOfASilentOneIsDiscarded) {
  testing::internal::CaptureStdout();
  const std::atomic<bool> interrupted{false};
  wait_for({start_process("/bin/sh", {"sh", "-c", "echo shown"}), start_process("/bin/sh", {"sh", "-c", "echo not"}, true)},
           interrupted);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "shown\n");
}

}  // namespace
}  // namespace roofmark
