#include "net/leaf/process_page.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace redlock::net {

process_page::process_page() : maker_(::getpid())
{
    void* const memory =
        ::mmap(nullptr, sizeof(content), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    content_ = static_cast<content*>(memory);
    content_->made_here = 1;
#ifdef MADV_WIPEONFORK
    wiped_on_fork_ = ::madvise(content_, sizeof(content), MADV_WIPEONFORK) == 0;
#endif
}

process_page::~process_page()
{
    ::munmap(content_, sizeof(content));
}

bool process_page::moved() const noexcept
{
    return ::getpid() != maker_;
}

} // namespace redlock::net
