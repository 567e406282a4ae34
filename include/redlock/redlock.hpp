// SPDX-License-Identifier: BSL-1.0
#pragma once

// IWYU pragma: begin_exports
#include <redlock/any_lock.hpp>
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/election.hpp>
#include <redlock/error.hpp>
#include <redlock/fence_options.hpp>
#include <redlock/fenced_multi_mutex.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/fenced_semaphore.hpp>
#include <redlock/fenced_shared_mutex.hpp>
#include <redlock/inspectable_lock.hpp>
#include <redlock/inspection.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/leadership.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/log.hpp>
#include <redlock/multi_mutex.hpp>
#include <redlock/mutex.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/observer.hpp>
#include <redlock/semaphore.hpp>
#include <redlock/server_error.hpp>
#include <redlock/shared_lease.hpp>
#include <redlock/shared_mutex.hpp>
#include <redlock/version.hpp>
#include <redlock/with_diagnostics.hpp>
#include <redlock/with_lock.hpp>
// IWYU pragma: end_exports

/// Locks that are granted by a majority of independent Redis servers.
namespace redlock {}
