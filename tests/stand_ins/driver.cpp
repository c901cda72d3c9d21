// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 of a driver that supports CUDA DRIVER_CUDA (13000 for 13.0) and finds no GPU.
extern "C" {

int cuDriverGetVersion(int* version) {
  *version = DRIVER_CUDA;
  return 0;
}

int cuInit(unsigned /*flags*/) { return 100; }  // CUDA_ERROR_NO_DEVICE
}
