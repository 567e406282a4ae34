#include "cli/child.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/remark.hpp"
#include "cli/verbs.hpp"
#include <redlock/error.hpp>

#include <exception>
#include <iostream>
#include <map>

namespace {

using namespace redlock;
using namespace redlock::cli;

int perform(options const& o, output const& out)
{
    static std::map<std::string, int (*)(options const&, output const&)> const verbs{
        {"run", run},         {"acquire", acquire}, {"extend", extend},
        {"release", release}, {"status", status},   {"doctor", doctor}};
    try {
        return verbs.at(o.verb)(o, out);
    } catch (failure const& why) {
        if (why.status() != exit_status::success)
            out.fail(why);
        return why.status();
    } catch (lock_error const& e) {
        failure const why(status_of(e.code(), e.outcomes(), o.conflict), without_secrets(e.what()),
                          e.outcomes());
        out.fail(why);
        return why.status();
    } catch (std::exception const& e) {
        out.fail({exit_status::internal, without_secrets(e.what())});
        return exit_status::internal;
    }
}

} // namespace

int main(int argc, char** argv)
{
    remember_inherited_files();
    survive_broken_pipes();
    try {
        options const o = read_options(argc, argv);
        return perform(o, output(o));
    } catch (failure const& why) {
        if (why.status() == exit_status::success)
            std::cout << why.what();
        else
            std::cerr << "redlock: " << why.what() << std::endl;
        return why.status();
    }
}
