// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>

void not_for_fenced_locks(redlock::mutex const&);
void not_for_plain_locks(redlock::fenced_mutex const&);

// Every line is wrong, and CTest looks for each of them in what the compiler says.
void misuse(redlock::mutex plain, redlock::fenced_mutex fenced);
void misuse(redlock::mutex plain, redlock::fenced_mutex fenced)
{
    not_for_fenced_locks(fenced);
    not_for_plain_locks(plain);
    plain = fenced;
    (void)fenced.adopt("a nonce without its token");
}
