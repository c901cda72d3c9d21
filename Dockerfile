# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
# An image that measures the GPUs of a node: of CUDA it needs the driver alone, which the engine passes in. README says how to use it.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
# As for CMake: 90a-real;100-real. Empty: those of cmake/cuda.cmake.
ARG ARCHITECTURES=
COPY . /roofmark
WORKDIR /roofmark
# git tells the program its commit.
RUN apt-get update && apt-get install --yes --no-install-recommends git && ./scripts/setup --toolkit pypi
RUN cmake --preset release -DCMAKE_CUDA_ARCHITECTURES="$ARCHITECTURES" -DROOFMARK_CARRY_CUDA=ON -DROOFMARK_MPI=OFF \
 && cmake --build --preset release \
 && cmake --install build/release --prefix /opt/roofmark --strip \
 && rm -rf .venv/cuda && cp -a .venv /opt/roofmark/python

FROM ${BASE}
RUN apt-get update && apt-get install --yes --no-install-recommends libstdc++6 python3 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/roofmark /opt/roofmark
ENV PATH=/opt/roofmark/bin:/opt/roofmark/share/roofmark/scripts:/opt/roofmark/python/bin:$PATH
# What NVIDIA's hooks of the engines pass in.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /results
CMD ["roofmark", "info"]
