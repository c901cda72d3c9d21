// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// roofmark-new-process, whose steps the cases cost/new_process time: what a short CUDA program does before its work.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "kernels/base/cuda.hpp"
#include "kernels/base/stepped_process.hpp"

namespace {

using roofmark::check;

__global__ void empty_kernel() {}

/// From CUDA 12 on this makes the primary context.
void make_context(int device) {
  const cudaError_t status = cudaSetDevice(device);
  if (status == cudaErrorDevicesUnavailable) {
    throw roofmark::Unsupported("a second process cannot use this GPU: " + describe_status(status).text);
  }
  check(status);
}

void run_kernel(int) {
  empty_kernel<<<1, 1>>>();
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
}

/// Says that a step is done, and waits until the next one may begin. False where none will.
bool tell_and_wait(bool is_last) {
  char byte = '.';
  if (::write(STDIN_FILENO, &byte, 1) != 1) throw roofmark::DeviceError("stdin is not a socket", false);
  return !is_last && ::read(STDIN_FILENO, &byte, 1) == 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr,
                 "usage: roofmark-new-process DEVICE STEP...\nRuns main, context, first_kernel, second_kernel in this "
                 "order, up to the last STEP. After each STEP it writes a byte to its stdin, a socket, and waits for one.\n");
    return 2;
  }
  // A driver that hangs would keep the process, and with it the GPU, beyond its parent's end.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::pair<std::string_view, void (*)(int)> steps[] = {
      {"main", [](int) {}}, {"context", make_context}, {"first_kernel", run_kernel}, {"second_kernel", run_kernel}};
  const int device = std::atoi(words[1]);
  int next = 2;
  try {
    for (const auto& [step, work] : steps) {
      work(device);
      if (step != words[next]) continue;
      if (!tell_and_wait(++next == count)) return 0;
    }
  } catch (const roofmark::Unsupported& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return roofmark::SteppedProcess::kUnsupported;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "'%s' is not one of main, context, first_kernel, second_kernel, in this order\n", words[next]);
  return 2;
}
