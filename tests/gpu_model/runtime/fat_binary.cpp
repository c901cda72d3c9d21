// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "fat_binary.hpp"

#include <cctype>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

#include "diagnostics.hpp"

namespace gpu_model::runtime {
namespace {

// The layout that nvcc writes: a wrapper points to a header; entries follow the header, and each starts with a header of its
// own.
struct Wrapper {
  std::uint32_t magic, version;
  const void* data;
  void* unused;
};
struct Header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;
};
struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t compressed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t compute_capability, name_offset, name_bytes;
  std::uint64_t flags, zero, uncompressed_bytes;
};
constexpr std::uint32_t wrapper_magic = 0x466243b1, header_magic = 0xBA55ED50;
constexpr std::uint16_t kind_ptx = 1;

/// The PTX of the highest compute capability that the device supports. Empty, with a line on stderr, if there is none.
std::string find_ptx(const void* image) {
  const auto* wrapper = static_cast<const Wrapper*>(image);
  const auto* header = static_cast<const Header*>(wrapper->data);
  if (wrapper->magic != wrapper_magic || header->magic != header_magic) return say("a fat binary cannot be read"), "";
  const auto device = static_cast<std::uint32_t>(settings().model->compute_capability);
  const char* at = reinterpret_cast<const char*>(header) + header->header_bytes;
  const char* end = at + header->bytes;
  const Entry* best = nullptr;
  const char* text = nullptr;
  while (at + sizeof(Entry) <= end) {
    const auto* entry = reinterpret_cast<const Entry*>(at);
    const bool runs = entry->kind == kind_ptx && entry->compute_capability <= device;
    if (runs && (!best || entry->compute_capability >= best->compute_capability)) {
      best = entry;
      text = at + entry->header_bytes;
    }
    at += entry->header_bytes + entry->bytes;
  }
  if (!best) return say("a fat binary has no PTX for compute capability %u", device), "";
  if (best->compressed_bytes) return say("the PTX of a fat binary is compressed: build with --no-compress"), "";
  return {text, strnlen(text, best->bytes)};
}

/// The position after the brace that closes the one at `open`.
std::size_t block_end(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text[i] == '"') {
      i = std::min(text.find('"', i + 1), text.size());
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

/// The line without leading white space and linkage.
std::string_view directive_of(std::string_view line) {
  for (const std::string_view skipped : {"", ".visible", ".weak"}) {
    if (line.starts_with(skipped)) line.remove_prefix(skipped.size());
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front()))) line.remove_prefix(1);
  }
  return line;
}

/// The name after ".entry".
std::string name_of_entry(std::string_view directive) {
  directive = directive_of(directive.substr(std::strlen(".entry")));
  std::size_t length = 0;
  while (length < directive.size() && (std::isalnum(static_cast<unsigned char>(directive[length])) ||
                                       directive[length] == '_' || directive[length] == '$')) {
    ++length;
  }
  return std::string(directive.substr(0, length));
}

}  // namespace

PtxParts cut_ptx(const std::string& text) {
  PtxParts parts;
  std::size_t kept = 0;  // end of the text that is in the parts already
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string_view directive = directive_of(std::string_view(text).substr(at, line_end - at));
    const bool is_entry = directive.starts_with(".entry"), is_section = directive.starts_with(".section");
    if (!is_entry && !is_section && !directive.starts_with(".func")) {
      at = line_end + 1;
      continue;
    }
    const std::size_t body = std::min(text.find_first_of("{;", at), text.size());
    const bool is_declaration = text.compare(body, 1, "{") != 0;
    const std::size_t end = is_declaration ? body + 1 : block_end(text, body);
    if (!is_declaration && (is_entry || is_section)) {
      parts.declarations.append(text, kept, at - kept);
      if (is_entry) parts.entries[name_of_entry(directive)] = text.substr(at, end - at);
      kept = end;
    }
    at = end;
  }
  parts.declarations.append(text, kept);
  return parts;
}

const PtxParts& FatBinary::parts() {
  std::call_once(cut_, [this] { parts_ = cut_ptx(find_ptx(image_)); });
  return parts_;
}

const std::string* FatBinary::entry(const std::string& kernel) {
  const auto found = parts().entries.find(kernel);
  return found == parts().entries.end() ? nullptr : &found->second;
}

std::shared_ptr<const Module> FatBinary::load(const std::string& kernel) {
  const std::string text = parts().declarations + "\n" + parts().entries.at(kernel) + "\n";
  if (const std::string& folder = settings().dump_folder; !folder.empty()) {
    std::ofstream(folder + "/" + kernel.substr(0, 200) + ".ptx") << text;  // file names have at most 255 characters
  }
  return has_variables_ ? load_all() : std::make_shared<const Module>(text);
}

void* FatBinary::variable(const std::string& name, std::size_t* bytes) { return load_all()->global(name, bytes); }

std::shared_ptr<const Module> FatBinary::load_all() {
  const std::lock_guard lock(mutex_);
  if (!shared_module_) {
    std::string all = parts().declarations;
    for (const auto& [name, entry] : parts().entries) all += "\n" + entry + "\n";
    shared_module_ = std::make_shared<const Module>(all);
  }
  return shared_module_;
}

}  // namespace gpu_model::runtime
