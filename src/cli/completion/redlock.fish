# fish completion for redlock(1)

function __redlock_verb --description 'The verb on the command line is one of these; without any: there is none yet'
    for word in (commandline -opc)[2..] # options of all verbs may stand before it
        if contains -- $word run elect acquire extend release leader status list doctor
            contains -- $word $argv
            return
        end
    end
    not set -q argv[1]
end

function __redlock_in_command --description 'What follows -- is the business of the command'
    __redlock_verb run elect; and contains -- -- (commandline -opc)
end

function __redlock_command
    set -l words (commandline -opc) (commandline -ct)
    set -l mark (contains -i -- -- $words)
    set -l second (math $mark + 2)
    if test (count $words) -gt $second; and test "$words[$second]" = -- # behind the name
        set mark $second
    end
    complete -C (string join ' ' -- $words[(math $mark + 1)..])
end

complete -c redlock -f
complete -c redlock -n __redlock_in_command -a '(__redlock_command)'

complete -c redlock -n __redlock_verb -l version -d 'Print the version'
complete -c redlock -n __redlock_verb -a run -d 'Run a command while holding a lock'
complete -c redlock -n __redlock_verb -a elect -d 'Run a command in one of many places'
complete -c redlock -n __redlock_verb -a acquire -d 'Take a lock and leave it to its expiry'
complete -c redlock -n __redlock_verb -a extend -d 'Give a lock that acquire took a full ttl again'
complete -c redlock -n __redlock_verb -a release -d 'Free a lock that acquire took'
complete -c redlock -n __redlock_verb -a leader -d 'Tell who leads'
complete -c redlock -n __redlock_verb -a status -d 'Tell who holds a lock on which node'
complete -c redlock -n __redlock_verb -a list -d 'List the locks on all nodes'
complete -c redlock -n __redlock_verb -a doctor -d 'Look for what makes locks on these nodes unsafe or slow'

complete -c redlock -s u -l node -x -d 'A node\'s URL; repeat it'
complete -c redlock -l nodes-file -rF -d 'Read the nodes\' URLs from a file'
complete -c redlock -l prefix -x -d 'Put this before the lock\'s name'
complete -c redlock -l user -x -d 'User name for nodes whose URL has none'
complete -c redlock -l askpass -d 'Ask for the password'
complete -c redlock -l password-file -rF -d 'The file of the password'
complete -c redlock -l cacert -rF -d 'Trusted authorities, PEM'
complete -c redlock -l cacertdir -x -a '(__fish_complete_directories)' -d 'Trusted authorities, a directory of hashed names'
complete -c redlock -l cert -rF -d 'Client certificate, PEM'
complete -c redlock -l key -rF -d 'Client key, PEM'
complete -c redlock -l sni -x -d 'Name to ask for and to verify'
complete -c redlock -l insecure -d 'Accept any certificate'
complete -c redlock -l assume-fresh -d 'The servers are new and cannot have forgotten locks'
complete -c redlock -l longest-ttl -x -d 'The longest ttl + slack of any lock on these nodes'
complete -c redlock -l json -d 'Write JSON'
complete -c redlock -s v -l verbose -d 'Say more'
complete -c redlock -s h -l help -d 'Print the options'

set -l verbs run elect acquire extend doctor
complete -c redlock -n "__redlock_verb $verbs" -s t -l ttl -x -d 'How long a lease is valid (30s)'
complete -c redlock -n "__redlock_verb $verbs" -l slack -x -d 'How much longer the servers keep the key'

set verbs run acquire
complete -c redlock -n "__redlock_verb $verbs" -s w -l wait -x -d 'Wait for so long at most'
complete -c redlock -n "__redlock_verb $verbs" -s n -l nonblock -d 'Do not wait'
complete -c redlock -n "__redlock_verb $verbs" -s E -l conflict-exit-code -x -d 'Exit status if somebody else has the lock (75)'
complete -c redlock -n "__redlock_verb $verbs" -s q -l quiet -d 'End with 0 if somebody else has the lock'
complete -c redlock -n "__redlock_verb $verbs" -l fenced -d 'With a fencing token'

set verbs run elect
complete -c redlock -n "__redlock_verb $verbs" -s c -l command -x -d 'Run this line with /bin/sh'
complete -c redlock -n "__redlock_verb $verbs" -s s -l signal -x -a 'TERM INT HUP QUIT USR1 USR2 KILL' -d 'Stops the command when the lock is being lost'
complete -c redlock -n "__redlock_verb $verbs" -s k -l kill-after -x -d 'The time between that signal and KILL'

complete -c redlock -n '__redlock_verb extend release' -l owner -x -d 'The owner token, as acquire told it (or REDLOCK_OWNER)'
complete -c redlock -n '__redlock_verb extend' -l token -x -d 'The fencing token (or REDLOCK_TOKEN)'
complete -c redlock -n '__redlock_verb elect' -l value -x -d 'What others are told of this leader (host:pid)'

complete -c redlock -n '__redlock_verb run' -l shared -d 'Together with other readers'
complete -c redlock -n '__redlock_verb run' -l exclusive -d 'Alone, in one queue with those who run with --shared'
complete -c redlock -n '__redlock_verb run' -l permits -x -d 'Together with others, as long as no more than so many run'
complete -c redlock -n '__redlock_verb run' -l count -x -d 'Of these, this one counts for so many'
complete -c redlock -n '__redlock_verb run' -l also -x -d 'This lock as well, all of them or none; repeat it'
complete -c redlock -n '__redlock_verb run' -l no-extend -d 'Do not renew: the command has one ttl'
complete -c redlock -n '__redlock_verb run' -l max-lifetime -x -d 'Do not hold the lock for longer'
complete -c redlock -n '__redlock_verb run' -l on-lost -x -a 'term warn' -d 'When the lock is lost'

complete -c redlock -n '__redlock_verb list' -l all -d 'Also keys that are no locks'
complete -c redlock -n '__redlock_verb list' -l limit -x -d 'List so many names at most (10000)'
complete -c redlock -n '__redlock_verb list' -l watch -d 'List again and again, after a pause of so many seconds (2)'

complete -c redlock -n '__redlock_verb doctor' -l prepare -d 'Leave the marker of fenced locks where none stands'
complete -c redlock -n '__redlock_verb doctor' -l shared -d 'Judge by the rights of readers and writers'
complete -c redlock -n '__redlock_verb doctor' -l several -d 'Judge by the rights of locks of several names'
complete -c redlock -n '__redlock_verb doctor' -l elect -d 'Judge by the rights of elections'
complete -c redlock -n '__redlock_verb doctor' -l permits -d 'Judge by the rights of semaphores'
