// SPDX-License-Identifier: BSL-1.0
#include "cli/options.hpp"

#include "cli/exit_status.hpp"
#include "cli/parser.hpp"
#include "kind/semaphore.hpp"
#include "redis/server_words.hpp"
#include <redlock/config.hpp>
#include <redlock/version.hpp>

#include <CLI/Validators.hpp>
#include <algorithm>
#include <chrono>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace redlock::cli {

namespace {

std::string version()
{
    return "redlock " + std::to_string(REDLOCK_VERSION_MAJOR) + '.' + std::to_string(REDLOCK_VERSION_MINOR) +
           '.' + std::to_string(REDLOCK_VERSION_PATCH);
}

} // namespace

parser::parser(options& o)
    : o_(o), app_("Run commands under a lock on several Redis servers, and look after such locks.", "redlock")
{
    app_.require_subcommand(1);
    app_.set_version_flag("--version", version());
    define_nodes(app_); // these may be given before the verb and after it
    define_run();
    define_elect();
    define_acquire();
    define_extend();
    define_release();
    define_leader();
    define_status();
    define_list();
    define_doctor();
    // Last: a verb inherits the settings that exist when it is made.
    app_.footer("The options above may precede or follow the verb, those of a verb follow it: "
                "redlock run --help\n"
                "A name that begins with a dash must follow --: redlock status -- -name\n");
}

void parser::define_nodes(CLI::App& to)
{
    config& c = o_.client;
    to.add_option_function<std::vector<std::string>>(
          "-u,--node",
          [this](std::vector<std::string> const& urls) {
              nodes_.insert(nodes_.end(), urls.begin(), urls.end());
          },
          "a node's URL; repeat it. Arguments can be seen by others: for URLs with passwords use "
          "REDLOCK_NODES or --nodes-file")
        ->type_name("URL")
        ->allow_extra_args(false);
    named(to, "--nodes-file", nodes_file_, "read the nodes' URLs from a file, and not from REDLOCK_NODES")
        .type_name("FILE");
    to.add_option("--prefix", c.key_prefix, "put this before the lock's name")->type_name("TEXT");
    named(to, "--user", c.username, "user name for nodes whose URL has none").type_name("NAME");
    auto* const ask = to.add_flag("--askpass", ask_password_,
                                  "ask for the password; otherwise it is taken from REDISCLI_AUTH");
    named(to, "--password-file", password_file_, "the password's file, read again for each connection")
        .type_name("FILE")
        ->excludes(ask);
    named(to, "--cacert", c.tls.ca_file, "trusted authorities, PEM").type_name("FILE");
    named(to, "--cacertdir", c.tls.ca_dir, "trusted authorities, a directory of hashed names")
        .type_name("DIR");
    named(to, "--cert", c.tls.cert_file, "client certificate, PEM").type_name("FILE");
    named(to, "--key", c.tls.key_file, "client key, PEM").type_name("FILE");
    named(to, "--sni", c.tls.server_name, "name to ask for and to verify").type_name("HOST");
    to.add_flag("--insecure", c.tls.insecure, "accept any certificate");
    to.add_flag("--assume-fresh", fresh_,
                "the servers are new and cannot have forgotten locks (or REDLOCK_ASSUME_FRESH=1)");
    time(to, "--longest-ttl", c.admission.longest_ttl, "the longest ttl + slack of any lock on these nodes");
    to.add_flag("--json", o_.json, "write JSON");
    to.add_flag("-v,--verbose", o_.verbose, "say more");
    for (CLI::Option* const shared : to.get_options(
             [&](CLI::Option const* o) { return o != to.get_help_ptr() && o != to.get_version_ptr(); }))
        shared->group("Options of all verbs");
}

void parser::define_name(CLI::App& to, bool required)
{
    to.add_option("NAME", o_.name, "the lock")->required(required);
}

void parser::define_lease(CLI::App& to)
{
    time(to, "-t,--ttl", o_.lock.ttl, "how long a lease is valid (30s)", &o_.ttl_as_typed);
    time(to, "--slack", o_.lock.slack, "how much longer the servers keep the key (10% of the ttl)");
}

void parser::define_waiting(CLI::App& to)
{
    auto const patience = std::chrono::floor<std::chrono::seconds>(o_.lock.retry.outage_patience);
    auto* const wait =
        to.add_option("-w,--wait", wait_,
                      "wait for so long at most; otherwise without limit while others hold it, and " +
                          std::to_string(patience.count()) + " s while no majority can be reached")
            ->type_name("DURATION");
    to.add_flag("-n,--nonblock", nonblock_, "do not wait")->excludes(wait);
    to.add_option("-E,--conflict-exit-code", o_.conflict, "exit status if somebody else has the lock (75)")
        ->type_name("NUMBER")
        ->check(CLI::Range(0, 255));
    to.add_flag("-q,--quiet", o_.quiet, "say nothing if somebody else has the lock; run ends with 0");
    to.add_flag("--fenced", o_.fenced, "with a fencing token");
}

void parser::define_owner(CLI::App& to)
{
    named(to, "--owner", o_.owner, "the owner token, as acquire told it (or REDLOCK_OWNER)")
        .type_name("TOKEN");
}

void parser::define_command(CLI::App& to)
{
    to.add_option("-c,--command", shell_line_, "run this line with /bin/sh")->type_name("LINE");
    to.add_option_function<std::string>(
          "-s,--signal", [this](std::string const& text) { o_.stop_signal = read_signal(text); },
          "stops the command when the lock is being lost (TERM)")
        ->type_name("SIGNAL");
    time(to, "-k,--kill-after", o_.kill_after,
         "the time between that signal and KILL (5s, or what fits into half of the ttl)",
         &o_.kill_after_as_typed);
    to.prefix_command();
}

void parser::define_run()
{
    run_ = &verb("run", "Run a command while holding a lock");
    CLI::App& run = *run_;
    define_name(run, true);
    define_lease(run);
    define_waiting(run);
    auto* const reads = run.add_flag_callback(
        "--shared", [this] { o_.with = sharing::reader; }, "together with other readers");
    auto* const writes = run.add_flag_callback(
        "--exclusive", [this] { o_.with = sharing::writer; },
        "alone, in one queue with those who run with --shared");
    writes->excludes(reads);
    auto* const permits =
        run.add_option("--permits", o_.permits, "together with others, as long as no more than so many run")
            ->type_name("NUMBER")
            ->check(CLI::Range(1U, kind::most_permits))
            ->excludes(reads)
            ->excludes(writes);
    run.add_option("--count", o_.count, "of these, this one counts for so many")
        ->type_name("NUMBER")
        ->needs(permits);
    named(run, "--also", further_names_, "this lock as well, all of them or none; repeat it")
        .type_name("NAME")
        ->allow_extra_args(false);
    define_command(run);
    run.add_flag("--no-extend", no_extend_, "do not renew: the command has one ttl");
    time(run, "--max-lifetime", o_.lock.max_hold, "do not hold the lock for longer");
    run.add_option_function<std::string>(
           "--on-lost",
           [this](std::string const& what) { o_.when_lost = what == "warn" ? on_loss::warn : on_loss::stop; },
           "when the lock is lost: stop the command (term), or only say so (warn)")
        ->type_name("term|warn")
        ->check(CLI::IsMember({"term", "warn"}));
    run.footer("redlock run [OPTIONS] NAME [--] COMMAND [ARGUMENT...]\n"
               "redlock run [OPTIONS] NAME -c LINE\n"
               "\n"
               "Examples:\n"
               "  redlock run nightly-report -- /usr/local/bin/report\n"
               "  redlock run -w 10s -t 1m nightly-report -c 'report | mail -s report me'\n"
               "  redlock run account:7 --also account:8 -- /usr/local/bin/transfer\n"
               "\n"
               "Exit status: the command's, or\n"
               "   64  usage                          77  wrong password, missing right\n"
               "   69  no majority of the servers     78  wrong configuration\n"
               "   75  somebody else has the lock    124  the lock was lost, the command stopped\n"
               "  125  internal error           126, 127  the command cannot be executed, was not found\n");
}

void parser::define_elect()
{
    elect_ = &verb("elect", "Run a command in one of many places: where this process leads");
    CLI::App& elect = *elect_;
    define_name(elect, true);
    define_lease(elect);
    elect.add_option("--value", o_.value, "what others are told of this leader (host:pid)")
        ->type_name("TEXT");
    define_command(elect);
    elect.footer(
        "redlock elect [OPTIONS] NAME [--] COMMAND [ARGUMENT...]\n"
        "\n"
        "Waits until this process leads, and runs the command. If it is not the leader any more, it stops "
        "the\n"
        "command and waits again. When the command has ended, it resigns, and another process leads.\n"
        "\n"
        "Example, on every host of a fleet:\n"
        "  redlock elect --value \"$(hostname):8080\" scheduler -- /usr/local/bin/scheduler\n"
        "\n"
        "Exit status: the command's, or that of run\n");
}

void parser::define_leader()
{
    CLI::App& leader = verb("leader", "Tell who leads");
    define_name(leader, true);
    leader.footer("Example:\n"
                  "  redlock leader scheduler\n"
                  "\n"
                  "Exit status: 0 somebody leads, 1 nobody, 69 too few nodes answer to tell\n");
}

void parser::define_acquire()
{
    CLI::App& acquire = verb("acquire", "Take a lock and leave it to its expiry; tell its owner token");
    define_name(acquire, true);
    define_lease(acquire);
    define_waiting(acquire);
    acquire.footer("Example:\n"
                   "  lock=$(redlock acquire -t 10m deploy) && eval \"$lock\"\n");
}

void parser::define_extend()
{
    extend_ = &verb("extend", "Give a lock that acquire took a full ttl again");
    CLI::App& extend = *extend_;
    define_name(extend, false);
    define_lease(extend);
    define_owner(extend);
    extend.add_option("--token", token_, "the fencing token, as acquire told it (or REDLOCK_TOKEN)")
        ->type_name("NUMBER");
    extend.footer("Example, in the environment that acquire has made:\n"
                  "  lock=$(redlock extend) && eval \"$lock\"\n"
                  "\n"
                  "Exit status: 0 extended, 1 it is lost\n");
}

void parser::define_release()
{
    CLI::App& release = verb("release", "Free a lock that acquire took");
    define_name(release, false);
    define_owner(release);
    release.footer("Example, in the environment that acquire has made:\n"
                   "  redlock release\n"
                   "\n"
                   "Exit status: 0 released, 1 it was lost before\n");
}

void parser::define_status()
{
    CLI::App& status = verb("status", "Tell who holds a lock on which node");
    define_name(status, true);
    status.footer(
        "Example:\n"
        "  redlock status nightly-report\n"
        "\n"
        "To end a holder, end its process, or take the servers away from it. DEL does not end it: a\n"
        "leader and the holder of a fenced lock set the key again. man redlock tells more.\n"
        "\n"
        "Exit status: 0 held, 1 free, 75 blocked, 69 too few nodes answer to tell\n");
}

void parser::define_list()
{
    CLI::App& list = verb("list", "List the locks on all nodes");
    list.add_option("PREFIX", o_.name, "the beginning of the names; without it: all names");
    list.add_flag("--all", o_.all, "also keys that are no locks: without an expiry, or of another type");
    list.add_option("--limit", o_.limit, "list so many names at most (10000)")
        ->type_name("NUMBER")
        ->check(CLI::Range(1U, 1'000'000U));
    list.add_flag("--watch{2}", watch_,
                  "list again and again, after a pause of so many seconds (2), until INT: --watch=5");
    list.footer("Examples:\n"
                "  redlock list\n"
                "  redlock list --watch account:\n"
                "\n"
                "It asks with SCAN, in steps. Names stand without --prefix, as all verbs take them.\n"
                "\n"
                "Exit status: 0, 69 too few nodes answer to tell\n");
}

void parser::define_doctor()
{
    CLI::App& doctor = verb("doctor", "Look for what makes locks on these nodes unsafe or slow");
    define_name(doctor, false);
    define_lease(doctor);
    doctor.add_flag("--prepare", o_.prepare,
                    "write missing markers of fenced locks now: the first fenced lock need not wait later");
    auto const add_use = [&](std::string const& option, lock_use what, std::string const& words) {
        doctor.add_flag_callback(
            option, [this, what] { o_.uses.insert(what); }, "judge by the rights of " + words);
    };
    add_use("--shared", lock_use::readers, "readers and writers");
    add_use("--several", lock_use::several_names, "locks of several names");
    add_use("--elect", lock_use::election, "elections");
    add_use("--permits", lock_use::permits, "semaphores");
    doctor.footer("Examples:\n"
                  "  redlock doctor nightly-report\n"
                  "  redlock doctor --shared prices\n"
                  "  redlock doctor --prepare -t 30s\n"
                  "\n"
                  "Exit status: 0, 1 with warnings, 2 with errors\n");
}

/// Names the unknown word, rather than the missing argument that it causes.
std::string parser::explain(CLI::Error const& wrong) const
{
    std::string verbs;
    for (CLI::App const* const known : app_.get_subcommands([](CLI::App const*) { return true; }))
        verbs += (verbs.empty() ? " (" : ", ") + known->get_name();
    verbs += ')';
    auto const strange = app_.remaining(); // before the verb, or instead of it
    if (!strange.empty() && strange.front().starts_with('-'))
        return "unknown option: '" + strange.front() +
               "'\n(options that all verbs have stand before the verb or behind it, those of a verb stand "
               "behind it)";
    if (!strange.empty())
        return "unknown verb: '" + strange.front() + '\'' + verbs;
    for (CLI::App const* const verb : app_.get_subcommands())
        for (std::string const& word : verb->remaining())
            if (word.starts_with('-'))
                return "unknown option: '" + word + "' (a name that begins with a dash must follow --)";
    bool const no_verb = app_.get_subcommands().empty() && dynamic_cast<CLI::RequiredError const*>(&wrong);
    return no_verb ? "a verb is missing" + verbs : wrong.what();
}

/// CLI11 takes the next word for the value of "--option=". The words of a command are its own.
void parser::refuse_empty_values(std::span<std::string const> words) const
{
    for (std::string const& word :
         words.first(words.size() - app_.get_subcommands().front()->remaining_size()))
        if (word.starts_with("--") && word.ends_with('='))
            throw failure(exit_status::usage, word + " is empty");
}

void parser::parse(int argc, char const* const* argv)
{
    // After the first "--" nothing is an option: the name, unless it was given before, and the command follow.
    std::vector<std::string> words(argv + 1, argv + argc);
    auto const mark = std::ranges::find(words, "--");
    rest_.assign(mark, words.end());
    words.erase(mark, words.end());
    if (rest_.size() > 1)
        for (CLI::App* const verb : app_.get_subcommands([](CLI::App const*) { return true; }))
            name_of(*verb).required(false);
    try {
        app_.parse(std::vector(words.rbegin(), words.rend())); // the order that CLI11 requires
    } catch (CLI::Success const& asked) {                      // help, version
        std::ostringstream text;
        app_.exit(asked, text, text);
        throw failure(exit_status::success, text.str());
    } catch (CLI::Error const& wrong) {
        refuse_unknown_options(); // the rest would be taken for the command, and other arguments would be missing
        auto const verbs = app_.get_subcommands();
        std::string const verb = verbs.empty() ? "" : ' ' + verbs.front()->get_name();
        throw failure(exit_status::usage,
                      without_secrets(explain(wrong)) + "\nredlock" + verb + " --help tells more");
    }
    refuse_empty_values(words);
    finish();
}

std::string options::shown_name() const
{
    return redis::printable(name);
}

void read_options(options& into, int argc, char const* const* argv)
{
    parser(into).parse(argc, argv);
}

} // namespace redlock::cli
