// SPDX-License-Identifier: BSL-1.0
#pragma once

/// \file
/// The library's version, for the preprocessor.

/// Before 1.0 a minor version may change the interface.
#define REDLOCK_VERSION_MAJOR 0
/// New features.
#define REDLOCK_VERSION_MINOR 2
/// Fixes.
#define REDLOCK_VERSION_PATCH 0

/// The version as one number that can be compared: 10000 * major + 100 * minor + patch.
#define REDLOCK_VERSION (REDLOCK_VERSION_MAJOR * 10000 + REDLOCK_VERSION_MINOR * 100 + REDLOCK_VERSION_PATCH)
