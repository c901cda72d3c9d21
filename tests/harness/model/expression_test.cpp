// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/expression.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace roofmark {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string error_of(const std::string& expression) {
  try {
    const Expression compiled(expression);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Expression, FindsOrMatchesTheWhole) {
  const Expression triad("triad/fp(32|64)");
  EXPECT_TRUE(triad.is_found_in("stream/triad/fp64/bytes:65536"));
  EXPECT_FALSE(triad.is_found_in("stream/triad/bf16/bytes:65536"));
  EXPECT_FALSE(triad.matches_whole("stream/triad/fp64"));
  EXPECT_TRUE(triad.matches_whole("triad/fp64"));
  EXPECT_TRUE(Expression("").is_found_in("anything"));
}

TEST(Expression, SaysWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> errors[] = {
      {"[ab", "missing ] for '[ab'"},
      {"gemm/(fp32", "missing ) for the ( at character 6"},
      {"(a)[(](b", "missing ) for the ( at character 7"},
      {"(a\\))b)[^])]", "unmatched ) at character 7"},
      {"*gemm", "nothing before '*' to repeat"},
      {"a{1001}", "'{1001}' repeats too often: at most 1000 times"},
      {"a**", "'**' is applied to a repetition"},
      {"[z-a]", "'z-a' is not a character class or range"},
      {"[[:number:]]", "'[:number:]' is not a character class or range"},
      {"(?=gemm)", "unknown group '(?=' (look-ahead is not supported)"},
      {"(a)\\1", "unknown escape '\\1'"},
      {"gemm\\", "trailing backslash"},
      {"\xff", "it is not UTF-8"},
  };
  for (const auto& [expression, what] : errors) {
    EXPECT_EQ(error_of(expression), std::string("'") + expression + "' is not a regular expression: " + what);
  }
}

TEST(Expression, NoExpressionTakesLongOrCrashes) {
  // Backtracking takes 2^100000 steps for the first, and a stack frame per parenthesis for the others.
  EXPECT_FALSE(Expression("(.+)+z$").is_found_in(std::string(100000, 'x')));
  EXPECT_EQ(error_of(std::string(20000, '(')),
            "'((((((((((((((((((((...' is too long for a regular expression: 20000 characters, at most 10000");
  EXPECT_THAT(error_of(std::string(1000, '(')), EndsWith("missing ) for the ( at character 1000"));
  const std::string deep = std::string(499, '(') + "a" + std::string(499, ')');
  EXPECT_TRUE(Expression(deep).is_found_in("a"));
  EXPECT_THAT(error_of("((((a{100}){100}){100}){100})"), AllOf(StartsWith("'((((a{100})"), Not(HasSubstr("re2"))));
}

}  // namespace
}  // namespace roofmark
