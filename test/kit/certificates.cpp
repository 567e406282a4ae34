// SPDX-License-Identifier: BSL-1.0
#include "kit/certificates.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace redlock::test {
namespace openssl {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const
    {
        Free(object);
    }
};

} // namespace openssl

namespace {

constexpr long day = 24L * 60 * 60;

using key_ptr = std::unique_ptr<EVP_PKEY, openssl::freed_by<EVP_PKEY_free>>;
using x509_ptr = std::unique_ptr<X509, openssl::freed_by<X509_free>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, openssl::freed_by<X509_EXTENSION_free>>;
using file_ptr = std::unique_ptr<std::FILE, openssl::freed_by<std::fclose>>;

void require(bool success, char const* what)
{
    if (success)
        return;
    char reason[256] = {};
    ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
    throw std::runtime_error(std::string("certificates: ") + what + ": " + reason);
}

key_ptr make_key()
{
    key_ptr key(EVP_EC_gen("P-256"));
    require(key != nullptr, "key");
    return key;
}

void set_serial(X509* certificate)
{
    std::uint64_t serial = 0;
    require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "serial");
    // RFC 5280 4.1.2.2: a serial number is positive.
    require(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), (serial >> 1) | 1) == 1, "serial");
}

x509_ptr draft(std::string const& common_name, EVP_PKEY* key, validity when)
{
    x509_ptr certificate(X509_new());
    require(certificate != nullptr, "new");
    require(X509_set_version(certificate.get(), X509_VERSION_3) == 1, "version");
    set_serial(certificate.get());
    bool const expired = when == validity::expired;
    require(X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3 * day) != nullptr, "not before");
    require(X509_gmtime_adj(X509_getm_notAfter(certificate.get()), expired ? -day : 30 * day) != nullptr,
            "not after");
    auto const* text = reinterpret_cast<unsigned char const*>(common_name.c_str());
    X509_NAME* name = X509_get_subject_name(certificate.get());
    require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1, "subject");
    require(X509_set_pubkey(certificate.get(), key) == 1, "public key");
    return certificate;
}

void extend(X509* certificate, X509* issuer, int kind, std::string const& value)
{
    X509V3_CTX context{};
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    extension_ptr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    require(extension != nullptr, value.c_str());
    require(X509_add_ext(certificate, extension.get(), -1) == 1, value.c_str());
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* key)
{
    require(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1, "issuer");
    extend(certificate, issuer, NID_subject_key_identifier, "hash");
    extend(certificate, issuer, NID_authority_key_identifier, "keyid");
    require(X509_sign(certificate, key, EVP_sha256()) != 0, "sign");
}

file_ptr open_for_writing(std::string const& path)
{
    file_ptr file(std::fopen(path.c_str(), "we"));
    if (!file)
        throw std::system_error(errno, std::generic_category(), path);
    return file;
}

void write(X509* certificate, std::string const& path)
{
    require(PEM_write_X509(open_for_writing(path).get(), certificate) == 1, path.c_str());
}

void write(EVP_PKEY* key, std::string const& path)
{
    require(PEM_write_PrivateKey(open_for_writing(path).get(), key, nullptr, nullptr, 0, nullptr, nullptr) ==
                1,
            path.c_str());
}

std::string joined(std::vector<std::string> const& names)
{
    std::string list;
    for (auto const& name : names)
        list += (list.empty() ? "" : ",") + name;
    return list;
}

} // namespace

temporary_directory::temporary_directory(std::string_view prefix)
{
    auto pattern = (std::filesystem::temp_directory_path() / prefix).string() + "-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
}

temporary_directory::~temporary_directory()
{
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

struct certificate_authority::impl {
    std::filesystem::path directory;
    std::string name;
    key_ptr key = make_key();
    x509_ptr certificate{};
    int issued = 0;

    std::string file(std::string const& stem, char const* kind) const
    {
        return (directory / (stem + kind)).string();
    }

    tls_files issue(x509_ptr subject, EVP_PKEY* subject_key, char const* usage)
    {
        extend(subject.get(), certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
        extend(subject.get(), certificate.get(), NID_key_usage, "critical,digitalSignature");
        extend(subject.get(), certificate.get(), NID_ext_key_usage, usage);
        sign(subject.get(), certificate.get(), key.get());
        auto const stem = name + "-" + usage + "-" + std::to_string(++issued);
        tls_files const files{file(stem, ".pem"), file(stem, ".key"), file(name, ".pem")};
        write(subject.get(), files.certificate);
        write(subject_key, files.key);
        return files;
    }
};

certificate_authority::certificate_authority(std::filesystem::path directory, std::string name)
    : impl_(new impl{std::move(directory), std::move(name)})
{
    impl_->certificate = draft("redlock test " + impl_->name, impl_->key.get(), validity::current);
    X509* own = impl_->certificate.get();
    extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
    extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
    sign(own, own, impl_->key.get());
    write(own, file());
}

certificate_authority::~certificate_authority() = default;

std::string certificate_authority::file() const
{
    return impl_->file(impl_->name, ".pem");
}

tls_files certificate_authority::issue_server(std::vector<std::string> const& names, validity when)
{
    auto const key = make_key();
    auto subject = draft("redlock test server", key.get(), when);
    extend(subject.get(), impl_->certificate.get(), NID_subject_alt_name, joined(names));
    return impl_->issue(std::move(subject), key.get(), "serverAuth");
}

tls_files certificate_authority::issue_client(std::string const& common_name)
{
    auto const key = make_key();
    return impl_->issue(draft(common_name, key.get(), validity::current), key.get(), "clientAuth");
}

} // namespace redlock::test
