// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "model/queue_world.hpp"

#include <array>

namespace redlock::model {

/// Scopes of the queue's searches. With `lease` and `window` of one tick everything ends at the first tick; longer
/// ones tell apart what ends sooner and later.
namespace queue_scopes {

inline constexpr queue_scope two_writers{.name = "two writers", .attempts = "WW", .lease = 2, .horizon = 3};
inline constexpr queue_scope writer_and_reader{
    .name = "writer and reader", .attempts = "WR", .lease = 2, .horizon = 3};
inline constexpr queue_scope long_window{.name = "writer and reader, a long window",
                                         .attempts = "WR",
                                         .lease = 2,
                                         .window = 2,
                                         .horizon = 3,
                                         .repeats = 2};
inline constexpr queue_scope two_writers_extension{
    .name = "two writers, extension", .attempts = "WW", .lease = 2, .horizon = 3, .extensions = 1};
inline constexpr queue_scope extension{
    .name = "writer and reader, extension", .attempts = "WR", .lease = 2, .horizon = 3, .extensions = 1};
inline constexpr queue_scope downgrade{
    .name = "downgrade and reader", .attempts = "DR", .lease = 2, .horizon = 2, .extensions = 1};
inline constexpr queue_scope restart{.name = "writer and reader, a restart",
                                     .attempts = "WR",
                                     .lease = 2,
                                     .quarantine = 2,
                                     .horizon = 3,
                                     .restarts = 1};
inline constexpr queue_scope clock_step{.name = "writer and reader, a clock step",
                                        .attempts = "WR",
                                        .slack = 1,
                                        .quarantine = 2,
                                        .horizon = 2,
                                        .steps = 1};
inline constexpr queue_scope clock_step_of_readers{.name =
                                                       "writer and two readers, a clock step, no late votes",
                                                   .attempts = "WRR",
                                                   .slack = 1,
                                                   .quarantine = 2,
                                                   .horizon = 2,
                                                   .steps = 1,
                                                   .late = false};
inline constexpr queue_scope two_permits{.name = "two for two permits", .attempts = "PP"};
inline constexpr queue_scope both_permits{.name = "one for both permits, one for one", .attempts = "BP"};
inline constexpr queue_scope mixed_kinds{
    .name = "writer and permit", .attempts = "WP", .lease = 2, .horizon = 2};
inline constexpr queue_scope two_sets{
    .name = "two for both names", .attempts = "SS", .lease = 2, .horizon = 2};
inline constexpr queue_scope two_writers_and_reader{.name = "two writers and reader", .attempts = "WWR"};
inline constexpr queue_scope writer_and_two_readers{.name = "writer and two readers", .attempts = "WRR"};

inline constexpr queue_scope restart_of_readers{.name = "writer and two readers, a restart, no late votes",
                                                .attempts = "WRR",
                                                .restarts = 1,
                                                .late = false};
// rule Q17
inline constexpr queue_scope two_queues{.name = "two writers and reader, two queues, no late votes",
                                        .attempts = "WWR",
                                        .two_queues = true,
                                        .late = false};

/// For every run of the tests.
inline constexpr std::array quick{&two_writers, &writer_and_reader, &long_window, &two_writers_extension,
                                  &downgrade,   &restart,           &clock_step,  &clock_step_of_readers,
                                  &two_permits, &both_permits,      &mixed_kinds, &two_sets};

inline constexpr queue_scope four{
    .name = "two writers and two readers, no late votes", .attempts = "WWRR", .late = false};
inline constexpr queue_scope four_extension{.name = "two writers and two readers, extension, no late votes",
                                            .attempts = "WWRR",
                                            .extensions = 1,
                                            .late = false};
inline constexpr queue_scope downgrade_reader_writer{
    .name = "downgrade, reader and writer, no late votes", .attempts = "DRW", .extensions = 1, .late = false};
inline constexpr queue_scope downgrade_reader_permit{
    .name = "downgrade, reader and permit, no late votes", .attempts = "DRP", .extensions = 1, .late = false};
inline constexpr queue_scope long_extension{.name = "writer and reader, extension, four ticks",
                                            .attempts = "WR",
                                            .lease = 2,
                                            .horizon = 4,
                                            .extensions = 1};
inline constexpr queue_scope lost_position{.name = "writer and two readers, a lost position, no late votes",
                                           .attempts = "WRR",
                                           .lease = 2,
                                           .horizon = 2,
                                           .deaf = 1,
                                           .late = false};
inline constexpr queue_scope three_permits{
    .name = "three for two permits, no late votes", .attempts = "PPP", .late = false};
inline constexpr queue_scope three_both_permits{
    .name = "one for both permits, two for one, no late votes", .attempts = "BPP", .late = false};
inline constexpr queue_scope set_and_names{
    .name = "one for both names, one for each, no late votes", .attempts = "Sab", .late = false};
inline constexpr queue_scope one_name_after_the_other{
    .name = "one for both names, one after the other, beside one; all by the queue",
    .attempts = "abSa",
    .repeats = 0,
    .votes = false,
    .late = false};

/// For the stage of the models.
inline constexpr std::array thorough{&extension,
                                     &two_writers_and_reader,
                                     &writer_and_two_readers,
                                     &restart_of_readers,
                                     &two_queues,
                                     &four,
                                     &four_extension,
                                     &downgrade_reader_writer,
                                     &downgrade_reader_permit,
                                     &long_extension,
                                     &lost_position,
                                     &three_permits,
                                     &three_both_permits,
                                     &set_and_names,
                                     &one_name_after_the_other};

inline constexpr queue_scope many{.name = "two writers and two readers, extension, a restart",
                                  .attempts = "WWRR",
                                  .lease = 2,
                                  .quarantine = 2,
                                  .horizon = 4,
                                  .extensions = 1,
                                  .repeats = 2,
                                  .restarts = 1,
                                  .deaf = 1};
inline constexpr queue_scope many_in_two_queues{.name = "two queues at once",
                                                .attempts = "WWRR",
                                                .lease = 2,
                                                .quarantine = 2,
                                                .horizon = 4,
                                                .extensions = 1,
                                                .restarts = 1,
                                                .two_queues = true};
inline constexpr queue_scope many_permits{.name = "four for two permits, a restart",
                                          .attempts = "BPPP",
                                          .lease = 2,
                                          .quarantine = 2,
                                          .horizon = 4,
                                          .extensions = 1,
                                          .restarts = 1,
                                          .deaf = 1};
inline constexpr queue_scope all_kinds{.name = "all kinds, a clock step",
                                       .attempts = "DRPP",
                                       .lease = 2,
                                       .slack = 1,
                                       .quarantine = 3,
                                       .horizon = 4,
                                       .extensions = 1,
                                       .repeats = 2,
                                       .restarts = 1,
                                       .steps = 1,
                                       .deaf = 1};

inline constexpr queue_scope names{.name = "two names, a restart",
                                   .attempts = "abSS",
                                   .lease = 2,
                                   .quarantine = 2,
                                   .horizon = 4,
                                   .extensions = 1,
                                   .restarts = 1,
                                   .deaf = 1};

/// Too large to be searched completely: random schedules only.
inline constexpr std::array random{&many, &many_in_two_queues, &many_permits, &all_kinds, &names};

} // namespace queue_scopes
} // namespace redlock::model
