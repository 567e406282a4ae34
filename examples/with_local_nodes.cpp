// SPDX-License-Identifier: BSL-1.0
// Runs a command with the URLs of fresh local Redis servers appended to it: with_local_nodes 3 ./01_hello
#include "local_redis.hpp"

#include <iterator>

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::cerr << "usage: with_local_nodes COUNT COMMAND [ARGUMENT...]\n";
        return EXIT_FAILURE;
    }
    // Servers that lose nothing vote at once, also to clients that do not know how new they are.
    example::nodes const nodes(std::stoul(argv[1]), {"--appendonly", "yes", "--appendfsync", "always"});
    std::vector<std::string> words(std::next(argv, 2), std::next(argv, argc));
    words.insert(words.end(), nodes.urls.begin(), nodes.urls.end());
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);

    pid_t const child = ::fork();
    if (child == 0) {
        ::execvp(pointers[0], pointers.data());
        ::_exit(127);
    }
    std::signal(SIGINT, SIG_IGN); // the command has it from the terminal, too, and its end is ours
    int status = 0;
    ::waitpid(child, &status, 0);
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
