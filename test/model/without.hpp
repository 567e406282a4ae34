// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/rule.hpp"
#include "model/rules.hpp"

#include <cstdint>

namespace redlock::model {

/// Switches rules of the core and of the model off for as long as it lives.
class without {
public:
    without(std::uint64_t core_rules, std::uint64_t model_rules)
    {
        core::rules_off = core_rules;
        rules_off = model_rules;
    }
    without(without const&) = delete;
    without& operator=(without const&) = delete;
    ~without() { core::rules_off = rules_off = 0; }
};

} // namespace redlock::model
