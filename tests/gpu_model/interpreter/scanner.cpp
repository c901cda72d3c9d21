// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "scanner.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace gpu_model {

void Scanner::fail(const std::string& what) const {
  throw std::runtime_error("PTX line " + std::to_string(line_) + ": " + what);
}

void Scanner::rewind(Place place) {
  at_ = place.at;
  line_ = place.line;
}

std::string Scanner::following() const {
  const char* stop = std::find(at_, std::min(at_ + 40, end_), '\n');
  return '"' + std::string(at_, stop) + '"';
}

void Scanner::skip_space() {
  while (at_ < end_) {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (*at_ == '\n') {
      ++line_;
      ++at_;
    } else if (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') {
      ++at_;
    } else if (rest.starts_with("//")) {
      at_ = std::find(at_, end_, '\n');
    } else if (rest.starts_with("/*")) {
      const std::size_t stop = std::min(rest.find("*/", 2), rest.size() - 2);
      line_ += static_cast<u32>(std::count(at_, at_ + stop, '\n'));
      at_ += stop + 2;
    } else {
      return;
    }
  }
}

char Scanner::peek() {
  skip_space();
  return here();
}

bool Scanner::take(char c) {
  if (peek() != c || c == '\0') return false;
  ++at_;
  return true;
}

void Scanner::expect(char c) {
  if (!take(c)) fail(std::string("expected '") + c + "' at " + following());
}

std::string_view Scanner::identifier() {
  skip_space();
  const char* start = at_;
  if (here() == '%' || here() == '.') ++at_;
  while (is_name(here())) ++at_;
  return {start, static_cast<std::size_t>(at_ - start)};
}

std::string_view Scanner::dotted_word() {
  skip_space();
  const char* start = at_;
  const auto part_of_double_colon = [&] {
    return *at_ == ':' && ((at_ + 1 < end_ && at_[1] == ':') || (at_ > start && at_[-1] == ':'));
  };
  while (at_ < end_ && (is_name(*at_) || *at_ == '.' || part_of_double_colon())) ++at_;
  return {start, static_cast<std::size_t>(at_ - start)};
}

bool Scanner::take_label(std::string& name) {
  const Place start = place();
  const std::string_view word = identifier();
  if (!word.empty() && peek() == ':' && !(at_ + 1 < end_ && at_[1] == ':')) {
    ++at_;
    name = word;
    return true;
  }
  rewind(start);
  return false;
}

u64 Scanner::integer() {
  const bool negative = take('-');
  skip_space();
  char* stop = nullptr;
  const u64 value = std::strtoull(at_, &stop, 0);
  if (stop == at_) fail("expected a number at " + following());
  at_ = stop;
  if (here() == 'U') ++at_;
  return negative ? 0 - value : value;
}

u64 Scanner::hexadecimal(int count) {
  at_ += 2;
  char* stop = nullptr;
  const u64 value = std::strtoull(at_, &stop, 16);
  if (stop - at_ != count) fail("expected " + std::to_string(count) + " hexadecimal digits at " + following());
  at_ = stop;
  return value;
}

bool Scanner::at_decimal() const {
  const char* point = std::find_if(at_, end_, [](char c) { return c < '0' || c > '9'; });
  return point < end_ && *point == '.';
}

double Scanner::decimal() {
  char* stop = nullptr;
  const double value = std::strtod(at_, &stop);
  at_ = stop;
  return value;
}

std::string Scanner::quoted() {
  expect('"');
  const char* start = at_;
  at_ = std::find(at_, end_, '"');
  return {start, at_};
}

void Scanner::skip_past(char c) {
  for (; at_ < end_ && *at_ != c; ++at_)
    if (*at_ == '\n') ++line_;
  if (at_ < end_) ++at_;
}

void Scanner::skip_line() { at_ = std::find(at_, end_, '\n'); }

void Scanner::skip_braces() {
  skip_past('{');
  for (int depth = 1; at_ < end_ && depth > 0; ++at_) {
    if (*at_ == '\n') ++line_;
    if (*at_ == '{') ++depth;
    if (*at_ == '}') --depth;
  }
}

}  // namespace gpu_model
