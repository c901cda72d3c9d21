// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/team_watch.hpp"

#include <utility>

#include "harness/team/channel/channel.hpp"

namespace roofmark {

TeamWatch::TeamWatch(Setup setup, const std::string& address)
    : channel_(setup.rank == 0 ? channel::lead(std::move(setup)) : channel::follow(std::move(setup), address)) {}
TeamWatch::~TeamWatch() = default;

const std::string& TeamWatch::address() const { return channel_->address(); }
void TeamWatch::doing(std::string what) { channel_->doing(std::move(what)); }
void TeamWatch::set_timeout(double seconds) { channel_->set_timeout(seconds); }
void TeamWatch::step() { channel_->step(); }
void TeamWatch::part() { channel_->part(); }
void TeamWatch::named_part(std::string what) { channel_->named_part(std::move(what)); }
void TeamWatch::rest() { channel_->rest(); }
void TeamWatch::fail() { channel_->fail(); }

}  // namespace roofmark
