// SPDX-License-Identifier: BSL-1.0
#pragma once

/// \file
/// The library's version, for the preprocessor.

/// Changes of the interface.
#define REDLOCK_VERSION_MAJOR 1
/// Additions.
#define REDLOCK_VERSION_MINOR 0
/// Fixes.
#define REDLOCK_VERSION_PATCH 0

/// The version as one number that can be compared: 10000 * major + 100 * minor + patch.
#define REDLOCK_VERSION (REDLOCK_VERSION_MAJOR * 10000 + REDLOCK_VERSION_MINOR * 100 + REDLOCK_VERSION_PATCH)
