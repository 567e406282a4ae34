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

/// Arguments that are wrong tell this much. Options may stand in front of the verb.
void guess(options& o, int argc, char const* const* argv)
{
    std::vector<std::string_view> words(argv, argv + argc);
    words.erase(std::ranges::find(words, "--"), words.end());
    if (auto const asked = std::ranges::find_first_of(words, verbs, {}, {}, &verb::name);
        asked != words.end())
        o.verb = *asked;
    o.json = std::ranges::find(words, "--json") != words.end();
}

/// Help, and the version.
int tell(std::string const& text)
{
    try {
        print(text);
        return exit_status::success;
    } catch (failure const& why) {
        output(options{}).fail(why);
        return why.status();
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
        if (o.verb.empty())
            guess(o, argc, argv);
        output(o).fail(why);
        return why.status();
    }
}
