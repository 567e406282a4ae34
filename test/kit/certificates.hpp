// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A private directory under the system's temporary one, removed with everything in it.
class temporary_directory {
public:
    explicit temporary_directory(std::string_view prefix);
    ~temporary_directory();
    temporary_directory(temporary_directory const&) = delete;
    temporary_directory& operator=(temporary_directory const&) = delete;

    std::filesystem::path const& path() const noexcept { return path_; }
    std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// PEM files of one party. `authority` is the root that signed its certificate.
struct tls_files {
    std::string certificate{};
    std::string key{};
    std::string authority{};

    bool operator==(tls_files const&) const = default;
};

enum class validity { current, expired };

/// A self-signed root, its key and the certificates it issues (all P-256, made at run time).
class certificate_authority {
public:
    certificate_authority(std::filesystem::path directory, std::string name);
    ~certificate_authority();
    certificate_authority(certificate_authority const&) = delete;
    certificate_authority& operator=(certificate_authority const&) = delete;

    std::string file() const;

    /// `names` in OpenSSL's notation: "DNS:localhost", "IP:127.0.0.1".
    tls_files issue_server(std::vector<std::string> const& names, validity when = validity::current);
    tls_files issue_client(std::string const& common_name);

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

/// The files that most TLS tests need. They live as long as this object.
class certificates {
    temporary_directory directory_{"redlock-tls"};

public:
    certificate_authority authority{directory_.path(), "authority"};
    certificate_authority stranger{directory_.path(), "stranger"};

    /// For localhost and 127.0.0.1.
    tls_files const server = authority.issue_server({"DNS:localhost", "IP:127.0.0.1"});
    tls_files const expired = authority.issue_server({"DNS:localhost", "IP:127.0.0.1"}, validity::expired);
    /// Trusted authority, wrong name.
    tls_files const misnamed = authority.issue_server({"DNS:elsewhere.invalid"});
    tls_files const client = authority.issue_client("redlock-client");
    /// A client that the server's authority does not know.
    tls_files const strange_client = stranger.issue_client("stranger");
};

} // namespace redlock::test
