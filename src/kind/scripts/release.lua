-- SPDX-License-Identifier: BSL-1.0
-- Deletes the lock only while it is ours. KEYS[1] the lock, ARGV[1] its owner's nonce. 1: deleted, 0: not ours.
-- rules A6, R1 and K5
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
else
    return 0
end
