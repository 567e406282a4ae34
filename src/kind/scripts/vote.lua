-- SPDX-License-Identifier: BSL-1.0
-- Votes for a lock or claims it, for each kind of owner (docs/protocol.md). KEYS: the lock, its queue (of an exclusive vote any
-- key); with a fence also the fence and the node's marker. ARGV: kind (x exclusive, r reader, p permits), nonce, milliseconds,
-- previous owner (empty: a vote; our nonce: nobody had the lock when we were called). For permits also: how many are wanted,
-- how many there are, the first to look at, the exact ones (empty: any), those that this node gave the same attempt before.
-- With a fence the last three: milliseconds of the fence; the proposal, or for a reader the milliseconds of the quarantine;
-- the marker as it was on connecting (empty: any).
-- Returns 1, or the number of the fence: granted. "GIVEN <number> <permits>": granted. "QUEUED": positions are before it.
-- "HELD <milliseconds left> <fence> <owner>": refused. "STRANGER": another node than expected. An error: the fence is no
-- number of ours.
-- rules Q6, Q10, S4, S16, P3, F1 and F3

-- The fast path decides nearly all exclusive votes and claims: the lock is free or a string, and the fence a number or absent.
local last = #ARGV
if ARGV[1] == 'x' then
    local seen = redis.call('mget', KEYS[1], unpack(KEYS, 3))
    local owner, fence, number = seen[1], 0, 1
    if KEYS[3] then
        local expected = ARGV[last] == '' or seen[3] == ARGV[last]
        fence = expected and tonumber(seen[2] or redis.call('pttl', KEYS[3]) == -2 and 0)
        fence = fence and fence >= 0 and fence < 8796093022207 and fence -- The last number has none above it.
    end
    local given = owner and ARGV[4] ~= '' and (owner == ARGV[2] or owner == ARGV[4])
    if fence and owner and not given then
        return redis.status_reply(string.format('HELD %.0f ', redis.call('pttl', KEYS[1])) .. fence .. ' ' .. owner:sub(1, 8))
    elseif fence and KEYS[3] then
        local clock = redis.call('time')
        local latest = clock[1] * 1000 + math.floor(clock[2] / 1000) + math.floor(ARGV[3] / 2) -- rule F3
        number = math.max(fence + 1, math.min(tonumber(ARGV[last - 1]), latest))
    end
    if fence and (given or redis.call('set', KEYS[1], ARGV[2], 'nx', 'px', ARGV[3])) then
        local counted = KEYS[3] and redis.pcall('set', KEYS[3], number, 'px', ARGV[last - 2])
        if counted and counted.err then
            return given and counted or redis.call('del', KEYS[1]) and counted
        elseif given then
            redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3])
        end
        return number
    end
end
local wants, nonce, milliseconds, giver = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
-- with holding.lua
-- with taking.lua
local fence = 0
-- Counts a grant, before the lock is changed. \return its number, or nothing and the reply that tells the reason
local function count()
    return 1
end
if KEYS[3] then
    -- with fence.lua
    local refused, has_fence, marker
    refused, fence, has_fence, marker = see_fence(wants, ARGV[last])
    if refused then
        return refused
    end
    -- A reader's number is a later date than all that the node may have forgotten, and no later than a proposal may be. It is
    -- rounded, so that readers that come together find the same number on all nodes (rule S16).
    local function snapshot()
        local step = math.floor(milliseconds / 2)
        local function later_date(moment)
            return moment - moment % step + step
        end
        local forgotten = later_date(now)
        if has_fence then
            local placed = tonumber((marker or ''):match('/(%d+)$'))
            forgotten = placed and math.min(later_date(placed + ARGV[last - 1]), forgotten) or 0
        end
        return math.max(fence, forgotten, 1)
    end
    local function number_above(highest)
        local latest = now + math.floor(milliseconds / 2) -- rule F3
        return highest and math.max(highest + 1, math.min(tonumber(ARGV[last - 1]), latest))
    end
    function count(permits)
        local number
        if wants == 'r' then
            number = snapshot()
        else
            number = number_above(permits and highest_fence(permits) or not permits and fence)
        end
        if not is_fence(number) then
            return nil, unusable_fence()
        elseif permits then
            set_fences(permits, number, ARGV[last - 2])
        else
            redis.call('set', KEYS[3], number, 'px', ARGV[last - 2])
        end
        return number
    end
end
local function held()
    -- with who_holds.lua
    local left, who = who_holds()
    return redis.status_reply('HELD ' .. left .. ' ' .. fence .. ' ' .. who)
end
local function has_queue()
    return redis.call('type', KEYS[2]).ok == 'zset'
end
local function serve_queue()
    -- with queue.lua
    start = tonumber(ARGV[7]) or 0
    return serve()
end
local function is_given(owner)
    return giver ~= '' and (owner == nonce or owner == giver)
end
-- Readers and permits pass nobody, unless they were called. Serving removes dead positions, which refuse nobody.
if wants ~= 'x' and giver == '' and has_queue() then
    redis.call('zadd', KEYS[2], 'xx', 0, '') -- A full server refuses this. It would not refuse what follows a removal.
    local refused = serve_queue()
    if refused or has_queue() then
        return refused or redis.status_reply('QUEUED')
    end
end
if kind == 'foreign' or kind == 'string' and not is_given(redis.call('mget', KEYS[1])[1]) then
    return held()
end
if wants == 'p' then
    -- with permits.lua
    local permits, surplus = nil, {}
    if ARGV[8] == '' then
        permits = choose(tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]))
    elseif kind ~= 'zset' then
        -- with permits_of.lua
        -- Returns the permits if each of them is free, ours or the previous owner's; otherwise nothing. Returns also the
        -- permits to free: those that this attempt was given before, and is not given now.
        -- rule Q14
        local function exactly(permits, before)
            if kind ~= 'hash' then
                return permits, {}
            end
            local seen, wanted, others = redis.call('hmget', KEYS[1], 'next', unpack(permits)), {}, {}
            local given = learn_next(seen[1]) and permits or nil
            for i, permit in ipairs(permits) do
                local value = seen[i + 1]
                wanted[permit] = true
                if value and end_of(value) > now and value:sub(1, 32) ~= nonce and not is_given(value:sub(1, 32)) then
                    given = nil
                end
                is_behind = is_behind or given and value and end_of(value) <= next_end
            end
            for _, permit in ipairs(before[1] and permits_of(nonce, before) or {}) do
                if not (given and wanted[permit]) then
                    others[#others + 1] = permit
                end
            end
            return given, others
        end
        permits, surplus = exactly(words(ARGV[8]), words(ARGV[9]))
    end
    local number, why = nil, nil
    if permits then
        number, why = count(permits)
        if not number then
            return why
        end
        take_permits(nonce, milliseconds, permits)
    end
    if surplus[1] then
        redis.call('hdel', KEYS[1], unpack(surplus))
        if has_queue() then
            serve_queue() -- names no previous owner: our nonce is not given up
        end
    end
    if not permits then
        return held()
    end
    return 'GIVEN ' .. number .. ' ' .. table.concat(permits, ' ')
end
-- with given.lua
if kind == 'zset' and wants == 'x' and not are_readers_given() or kind == 'hash' and not are_permits_given() then
    return held()
end
local number, why = count()
if not number then
    return why
elseif wants == 'x' then
    redis.call('set', KEYS[1], nonce, 'px', milliseconds)
    return number
end
local others = kind == 'zset'
take_as_readers({nonce}, milliseconds)
if others then
    redis.pcall('zremrangebyscore', KEYS[1], '-inf', now)
end
return number
