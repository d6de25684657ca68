# Part of scripts/yarn-cluster: a KDC on loopback, and what Hadoop needs to use it.
# shellcheck shell=bash

readonly realm=TONY.TEST

# Runs the command with the ticket of the cluster's administrator; without Kerberos it needs none.
as_administrator() {
  if $kerberos; then
    KRB5_CONFIG=$folder/krb5/krb5.conf KRB5CCNAME=FILE:$folder/krb5/administrator "$@"
  else
    "$@"
  fi
}

write_kerberos_files() {
  cat >"$folder/krb5/krb5.conf" <<END
[libdefaults]
  default_realm = $realm
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  ticket_lifetime = 1d
  renew_lifetime = 7d
[realms]
  $realm = {
    kdc = 127.0.0.1:$(port 8850)
  }
[domain_realm]
  localhost = $realm
END
  cat >"$folder/krb5/kdc.conf" <<END
[kdcdefaults]
  kdc_listen = 127.0.0.1:$(port 8850)
  kdc_tcp_listen = 127.0.0.1:$(port 8850)
[realms]
  $realm = {
    database_name = $folder/krb5/principal
    key_stash_file = $folder/krb5/stash
    max_life = 1d
    max_renewable_life = 7d
    supported_enctypes = aes256-cts:normal aes128-cts:normal
  }
END
}

make_principals() {
  local principal
  kdb5_util create -s -r "$realm" -P master
  for principal in nn/localhost dn/localhost rm/localhost nm/localhost HTTP/localhost alice bob; do
    echo "addprinc -randkey +allow_renewable -maxrenewlife 7d $principal"
    echo "ktadd -k $folder/krb5/${principal%%/*}.keytab $principal"
  done | kadmin.local -r "$realm"
}

start_kdc() {
  local tool
  for tool in krb5kdc kdb5_util kadmin.local kinit; do
    command -v $tool >/dev/null || fail "$tool is missing; run scripts/setup"
  done
  mkdir -p -m 0700 -- "$folder/krb5"
  java_options+=("-Djava.security.krb5.conf=$folder/krb5/krb5.conf"
    --add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED)
  export KRB5_CONFIG=$folder/krb5/krb5.conf KRB5_KDC_PROFILE=$folder/krb5/kdc.conf
  write_kerberos_files
  if [[ ! -e $folder/krb5/principal ]]; then
    make_principals >"$folder/log/principals.log" 2>&1 ||
      fail "the principals cannot be made; see $folder/log/principals.log"
  fi
  # The path of the process number's file, on the command line, also shows which folder the process
  # belongs to.
  run kdc env "KRB5_CONFIG=$KRB5_CONFIG" "KRB5_KDC_PROFILE=$KRB5_KDC_PROFILE" \
    "$(command -v krb5kdc)" -n -r "$realm" -P "$folder/krb5/kdc.pid"
  await "KDC" 20 answers "$(port 8850)"
  as_administrator kinit -kt "$folder/krb5/nn.keytab" nn/localhost
}

kerberos_core_site() {
  local me
  me=$(id -un)
  property hadoop.security.authentication kerberos
  property hadoop.security.auth_to_local "RULE:[2:\$1@\$0](.*@$realm)s/.*/$me/ DEFAULT"
  property hadoop.user.group.static.mapping.overrides "$me=$me;alice=users;bob=users"
  property hadoop.http.filter.initializers \
    org.apache.hadoop.security.AuthenticationFilterInitializer
  property hadoop.http.authentication.type kerberos
  property hadoop.http.authentication.simple.anonymous.allowed false
  property hadoop.http.authentication.kerberos.principal "HTTP/localhost@$realm"
  property hadoop.http.authentication.kerberos.keytab "$folder/krb5/HTTP.keytab"
  property hadoop.http.authentication.signature.secret.file "$folder/krb5/http.secret"
  property hadoop.http.authentication.cookie.domain localhost
  (umask 077 && head -c 32 /dev/urandom | base64 >"$folder/krb5/http.secret")
}

kerberos_hdfs_site() {
  local name
  for name in namenode:nn datanode:dn; do
    property "dfs.${name%:*}.kerberos.principal" "${name#*:}/localhost@$realm"
    property "dfs.${name%:*}.keytab.file" "$folder/krb5/${name#*:}.keytab"
  done
  property dfs.web.authentication.kerberos.principal "HTTP/localhost@$realm"
  property dfs.web.authentication.kerberos.keytab "$folder/krb5/HTTP.keytab"
  property dfs.block.access.token.enable true
  property dfs.http.policy HTTP_ONLY
  # A DataNode on ports above 1024 without TLS; its transfers are protected nevertheless.
  property dfs.data.transfer.protection "${protection%%,*}"
  property ignore.secure.ports.for.testing true
}

kerberos_yarn_site() {
  local name
  for name in resourcemanager:rm nodemanager:nm; do
    property "yarn.${name%:*}.principal" "${name#*:}/localhost@$realm"
    property "yarn.${name%:*}.keytab" "$folder/krb5/${name#*:}.keytab"
    property "yarn.${name%:*}.webapp.spnego-principal" "HTTP/localhost@$realm"
    property "yarn.${name%:*}.webapp.spnego-keytab-file" "$folder/krb5/HTTP.keytab"
  done
  property yarn.acl.enable true
  property yarn.admin.acl "$(id -un)"
}

kerberos_environment() {
  echo "export KRB5_CONFIG=$folder/krb5/krb5.conf KEYTABS=$folder/krb5"
  echo "export KRB5CCNAME=FILE:$folder/krb5/users RM_PRINCIPAL=rm/localhost@$realm"
}
