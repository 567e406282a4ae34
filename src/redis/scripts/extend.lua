-- Renews the lock only while it is ours. KEYS[1] the lock, ARGV[1] its owner's nonce, ARGV[2] milliseconds.
-- PEXPIRE and not SET: SET is refused when the server is out of memory. 1: renewed, 0: not ours.
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
else
    return 0
end
