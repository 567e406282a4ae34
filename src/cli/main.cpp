// SPDX-License-Identifier: BSL-1.0
#include "cli/child.hpp"
#include "cli/exit_status.hpp"
#include "cli/note.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include <redlock/error.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace redlock;
using namespace redlock::cli;

struct verb {
    std::string_view name;
    int (*perform)(options const&, output const&);
};
constexpr verb verbs[] = {{"run", run},       {"elect", elect},     {"acquire", acquire},
                          {"extend", extend}, {"release", release}, {"leader", leader},
                          {"status", status}, {"list", list},       {"doctor", doctor}};

int perform(options const& o, output const& out)
{
    try {
        return std::ranges::find(verbs, std::string_view(o.verb), &verb::name)->perform(o, out);
    } catch (failure const& why) {
        out.fail(why);
        return why.status();
    } catch (lock_error const& e) {
        std::string const advice = e.code() == errc::misconfigured ? advice_on_nodes(o.client.nodes) : "";
        failure const why(status_of(e, e.outcomes(), o.conflict), without_secrets(e.what()) + advice,
                          e.outcomes());
        out.fail(why);
        return why.status();
    } catch (std::exception const& e) {
        out.fail({exit_status::internal, without_secrets(e.what())});
        return exit_status::internal;
    }
}

/// Also if the arguments are wrong.
void fail_in_eval(int argc, char const* const* argv)
{
    std::vector<std::string_view> const words(argv, argv + argc);
    // The verb, as far as it can be told: options may stand in front of it.
    auto const asked = std::ranges::find_first_of(words, verbs, {}, {}, &verb::name);
    if (asked != words.end() && *asked == "acquire" && std::ranges::find(words, "--json") == words.end())
        std::cout << failing_command << std::flush;
}

int complain(failure const& why)
{
    std::cerr << "redlock: " << why.what() << std::endl;
    return why.status();
}

/// Help, and the version.
int tell(std::string const& text)
{
    try {
        print(text);
        return exit_status::success;
    } catch (failure const& why) {
        return complain(why);
    }
}

} // namespace

int main(int argc, char** argv)
{
    remember_inherited_files();
    survive_broken_pipes();
    options o;
    try {
        read_options(o, argc, argv);
        return perform(o, output(o));
    } catch (failure const& why) {
        if (why.status() == exit_status::success)
            return tell(why.what());
        if (!o.verb.empty()) {
            output(o).fail(why);
            return why.status();
        }
        fail_in_eval(argc, argv);
        return complain(why);
    }
}
