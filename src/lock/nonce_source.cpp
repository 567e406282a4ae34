#include "lock/nonce_source.hpp"

#include <openssl/rand.h>

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <stdexcept>

namespace redlock::lock {

namespace {

constexpr char digit(unsigned value)
{
    return static_cast<char>(value + (value < 10 ? '0' : 'a' - 10));
}

} // namespace

struct nonce_source::page {
    static constexpr std::size_t size = 4096;
    std::size_t left; ///< nonces not yet handed out; a wiped page has none
    unsigned char bytes[size - sizeof(std::size_t)];
};

nonce_source::nonce_source()
{
    void* const memory =
        ::mmap(nullptr, page::size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    page_ = static_cast<page*>(memory);
#ifdef MADV_WIPEONFORK
    wiped_on_fork_ = ::madvise(page_, page::size, MADV_WIPEONFORK) == 0;
#endif
}

nonce_source::~nonce_source()
{
    ::munmap(page_, page::size);
}

void nonce_source::refill()
{
    if (RAND_bytes(page_->bytes, sizeof(page_->bytes)) != 1)
        throw std::runtime_error("redlock: no randomness for nonces");
    // Where a fork cannot be noticed nothing is kept.
    page_->left = wiped_on_fork_ ? sizeof(page_->bytes) / random_bytes : 1;
}

nonce nonce_source::next()
{
    if (page_->left == 0)
        refill();
    unsigned char const* const raw = page_->bytes + --page_->left * random_bytes;
    std::array<char, redis::nonce_length> text;
    for (std::size_t i = 0; i != random_bytes; ++i) { // without a table: eight bytes or more in one step
        text[2 * i] = digit(raw[i] >> 4U);
        text[2 * i + 1] = digit(raw[i] & 15U);
    }
    return nonce(text);
}

} // namespace redlock::lock
