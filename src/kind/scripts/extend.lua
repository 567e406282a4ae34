-- SPDX-License-Identifier: BSL-1.0
-- Renews the lock only while it is ours. KEYS[1] the lock, ARGV[1] its owner's nonce, ARGV[2] milliseconds.
-- PEXPIRE and not SET: SET is refused when the server is out of memory. The second GET comes after our own change: it
-- is for client tracking, to hear of the next one. 1: renewed, 0: not ours.
-- rules W6 and H4
if redis.call('get', KEYS[1]) == ARGV[1] then
    local renewed = redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('get', KEYS[1])
    return renewed
else
    return 0
end
